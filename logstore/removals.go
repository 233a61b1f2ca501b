package logstore

import (
	"container/heap"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"minibroker/internal/vfs"
)

// removal is a renamed file or partition directory whose delay runs.
type removal struct {
	due  time.Time
	path string
	dir  bool
	// what is the name in the log line ("log", "offset index", ...).
	what string
	// say, when set, is all there is to do: a line before the files of some
	// segments go.
	say func()

	seq int64 // order of those that are due at the same time
}

// removals holds everything that was renamed and has to go later. Nothing runs
// by itself: removeDue takes what is due, RunDeletions waits in between.
type removals struct {
	fsys   vfs.FS
	logger *slog.Logger
	wake   chan struct{} // one slot: something earlier was added
	failed func(m removal, err error)

	mu    sync.Mutex
	queue removalQueue
	added int64
}

func newRemovals(fsys vfs.FS, logger *slog.Logger) *removals {
	return &removals{fsys: fsys, logger: logger, wake: make(chan struct{}, 1)}
}

func (r *removals) add(m removal) {
	r.mu.Lock()
	r.added++
	m.seq = r.added
	heap.Push(&r.queue, m)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// removeDue removes what is due at now and tells when the next is, zero for
// nothing. The first error is returned after everything was tried.
func (r *removals) removeDue(now time.Time) (next time.Time, err error) {
	for {
		r.mu.Lock()
		if len(r.queue) == 0 || r.queue[0].due.After(now) {
			if len(r.queue) > 0 {
				next = r.queue[0].due
			}
			r.mu.Unlock()
			return next, err
		}
		m := heap.Pop(&r.queue).(removal)
		r.mu.Unlock()
		failure := r.remove(m)
		if failure != nil && r.failed != nil {
			r.failed(m, failure)
		}
		err = errors.Join(err, failure)
	}
}

func (r *removals) remove(m removal) error {
	if m.say != nil {
		m.say()
		return nil
	}
	if m.dir {
		return r.removeDir(m.path)
	}
	err := r.fsys.Remove(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.logger.Info("Deleted " + m.what + " " + m.path + ".")
	return nil
}

func (r *removals) removeDir(path string) error {
	if err := r.fsys.RemoveAll(path); err != nil {
		return err
	}
	tp := strings.TrimSuffix(filepath.Base(path), deleteDirSuffix)
	if i := strings.LastIndexByte(tp, '.'); i >= 0 {
		tp = tp[:i]
	}
	r.logger.Info("Deleted log for partition " + tp + " in " + path + ".")
	return r.fsys.SyncDir(filepath.Dir(path))
}

// run removes things as they become due until ctx ends. An error is logged
// and does not stop it.
func (r *removals) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-r.wake:
		}
		next, err := r.removeDue(time.Now())
		if err != nil {
			r.logger.Error("remove deleted files", slog.Any("error", err))
		}
		if next.IsZero() {
			timer.Stop()
			continue
		}
		timer.Reset(time.Until(next))
	}
}

// removalQueue is a heap by due time.
type removalQueue []removal

func (q removalQueue) Len() int      { return len(q) }
func (q removalQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *removalQueue) Push(x any)   { *q = append(*q, x.(removal)) }
func (q removalQueue) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].seq < q[j].seq
}
func (q *removalQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
