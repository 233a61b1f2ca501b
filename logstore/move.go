package logstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// A partition moves to another data directory while it is in use:
//
//	DIR2/topic-0.<32 hex>-future   the copy that is being made; a start begins it again
//	DIR2/topic-0                   the copy is whole, and nothing is appended meanwhile
//	DIR1/topic-0.<32 hex>-delete   the old files, which go after a delay
//
// A crash between the last two leaves two whole and equal directories: the
// start takes one and sets the other aside.

// move is one partition on its way.
type move struct {
	log    *Log
	from   *Dir
	to     *Dir
	future atomic.Pointer[Log] // the copy
	given  chan struct{}       // closed when the move is given up
	left   string              // the old directory under its last name
	once   sync.Once
}

func (m *move) giveUp() { m.once.Do(func() { close(m.given) }) }

func (m *move) isGivenUp() bool {
	select {
	case <-m.given:
		return true
	default:
		return false
	}
}

// moves are all partitions on their way.
type moves struct {
	wake chan struct{} // holds a value while some wait

	mu      sync.Mutex // a leaf
	byName  map[TopicPartition]*move
	waiting []*move
}

func newMoves() *moves {
	return &moves{wake: make(chan struct{}, 1), byName: make(map[TopicPartition]*move)}
}

// add notes a move that shall begin.
func (q *moves) add(m *move) {
	q.mu.Lock()
	q.byName[m.log.tp] = m
	q.waiting = append(q.waiting, m)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *moves) get(tp TopicPartition) *move {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byName[tp]
}

func (q *moves) take() []*move {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}

// remove forgets a move, unless another of the same partition came after it.
func (q *moves) remove(m *move) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byName[m.log.tp] == m {
		delete(q.byName, m.log.tp)
	}
}

// giveUp ends the move of a partition, if there is one; RunMoves clears up.
func (q *moves) giveUp(tp TopicPartition) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.byName[tp]; m != nil {
		m.giveUp()
		delete(q.byName, tp)
	}
}

func (q *moves) all() []*move {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]*move, 0, len(q.byName))
	for _, m := range q.byName {
		list = append(list, m)
	}
	return list
}

// Move is a partition on its way to another data directory.
type Move struct {
	To     *Dir
	Future *Log // the copy
	Source *Log
}

// Moves lists the partitions on their way, in no order.
func (s *Store) Moves() []Move {
	var list []Move
	for _, m := range s.moves.all() {
		list = append(list, Move{To: m.to, Future: m.future.Load(), Source: m.log})
	}
	return list
}

// BeginMove has a partition moved to another data directory; RunMoves does it.
// A move elsewhere that is under way is given up; that to where the partition
// is ends it and begins nothing.
func (s *Store) BeginMove(tp TopicPartition, to *Dir) error {
	s.changes.RLock()
	defer s.changes.RUnlock()
	s.mu.RLock()
	p, closed := s.logs[tp], s.closed
	s.mu.RUnlock()
	switch {
	case closed:
		return ErrClosed
	case p.log == nil:
		return fmt.Errorf("%w: %s", ErrUnknownLog, tp)
	}
	if m := s.moves.get(tp); m != nil && m.to == to {
		return nil
	}
	s.moves.giveUp(tp)
	if p.dir == to {
		return nil
	}
	m := &move{log: p.log, from: p.dir, to: to, given: make(chan struct{})}
	if err := s.createFuture(m); err != nil {
		return fmt.Errorf("%w: move %s to %s: %w", ErrStorage, tp, to.Path, err)
	}
	s.moves.add(m)
	return nil
}

// createFuture makes the empty copy. It begins where the batch begins that
// holds the log start offset.
func (s *Store) createFuture(m *move) error {
	base, err := m.log.firstBase()
	if err != nil {
		return err
	}
	path := m.to.file(setAsideDirName(m.log.tp, futureDirSuffix))
	future, err := openLog(s.env, LogOptions{
		Dir: path, Config: *m.log.config.Load(), Clean: true, TopicID: m.log.TopicID(), LogStartOffset: base, RecoveryPoint: base,
	})
	if err != nil {
		return err
	}
	m.future.Store(future)
	s.env.logger.Info("Created log for partition " + m.log.tp.String() + " in " + path)
	return s.env.fsys.SyncDir(m.to.Path)
}

// firstBase is the base offset of the batch that holds the log start offset,
// the start itself when there is none.
func (l *Log) firstBase() (int64, error) {
	start := l.StartOffset()
	info, err := l.Read(start, 1, ReadOptions{UpperBound: l.EndOffset(), MinOneMessage: true})
	if err != nil || info.Records == nil {
		return start, err
	}
	defer info.Records.Release()
	var head [8]byte
	if _, err := info.Records.ReadAt(head[:], 0); err != nil {
		return 0, err
	}
	return min(start, int64(binary.BigEndian.Uint64(head[:]))), nil
}

// MoveOptions say how partitions are moved.
type MoveOptions struct {
	AtOnce int // partitions at a time (num.replica.alter.log.dirs.threads)
	// Rate bounds the bytes per second of all together, as it is now; nil is no
	// bound (replica.alter.log.dirs.io.max.bytes.per.second).
	Rate func() int64
	// Moved is told of a partition that is served from its new place.
	Moved func(TopicPartition)
}

// RunMoves moves partitions as they are asked for until ctx ends. Copies that
// are not finished by then are kept, and begun again after the next start.
func (s *Store) RunMoves(ctx context.Context, o MoveOptions) {
	slots := make(chan struct{}, max(o.AtOnce, 1))
	pace := &pace{rate: o.Rate}
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.moves.wake:
		}
		for _, m := range s.moves.take() {
			running.Go(func() {
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
				case <-ctx.Done():
				}
				s.runMove(ctx, m, o, pace)
			})
		}
	}
}

func (s *Store) runMove(ctx context.Context, m *move, o MoveOptions, pace *pace) {
	err := s.carry(ctx, m, pace)
	switch {
	case err == nil:
		if o.Moved != nil {
			o.Moved(m.log.tp)
		}
		return
	case ctx.Err() != nil && !m.isGivenUp():
		return // it goes on after the next start
	}
	if !errors.Is(err, errMoveGivenUp) {
		s.env.logger.Error(fmt.Sprintf("%s is not moved from %s to %s; it stays where it is", m.log.tp, m.from.Path, m.to.Path), slog.Any("error", err))
	}
	if err := s.dropMove(m); err != nil {
		s.env.logger.Error("remove the copy of "+m.log.tp.String()+" in "+m.to.Path, slog.Any("error", err))
	}
}

var errMoveGivenUp = errors.New("the move was given up")

// carry copies the partition and lets it go on in the copy.
func (s *Store) carry(ctx context.Context, m *move, pace *pace) error {
	for {
		err := m.catchUp(ctx, pace)
		if errors.Is(err, ErrOffsetOutOfRange) {
			// What was to be copied next has been deleted: a copy without a hole
			// begins where the log begins now.
			if err = s.dropFuture(m); err == nil {
				err = s.createFuture(m)
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		return s.swapMoved(m)
	}
}

// catchUp copies until little is left, and makes that durable.
func (m *move) catchUp(ctx context.Context, pace *pace) error {
	buf := make([]byte, chunkBytes)
	future := m.future.Load()
	for m.log.EndOffset() > future.EndOffset() {
		n, err := m.copyChunk(&buf)
		if err != nil {
			return err
		}
		if err := pace.wait(ctx, m.given, n); err != nil {
			return err
		}
	}
	if err := stopped(ctx, m.given); err != nil {
		return err
	}
	return future.Flush(future.EndOffset())
}

// chunkBytes is how much is copied at a time; a batch may be larger.
const chunkBytes = 1 << 20

// copyChunk copies the next batches and returns how many bytes.
func (m *move) copyChunk(buf *[]byte) (int, error) {
	future := m.future.Load()
	most := min(chunkBytes, future.Config().SegmentBytes)
	at, err := m.next(future.EndOffset())
	if err != nil {
		return 0, err
	}
	info, err := m.log.Read(at, most, ReadOptions{UpperBound: m.log.EndOffset(), MinOneMessage: true})
	if err != nil || info.Records == nil {
		return 0, err
	}
	defer info.Records.Release()
	n := int(info.Records.Len())
	if n > len(*buf) {
		*buf = make([]byte, n)
	}
	if n > future.Config().SegmentBytes { // a batch of older settings
		cfg := future.Config()
		cfg.SegmentBytes = n
		future.SetConfig(cfg)
	}
	if _, err := info.Records.ReadAt((*buf)[:n], 0); err != nil {
		return 0, err
	}
	_, err = future.Append((*buf)[:n], AppendOptions{Origin: Raw})
	return n, err
}

// next is where to read what follows in the copy: there, or at the log start
// offset when that lies inside the batch that follows. ErrOffsetOutOfRange when
// that batch is gone.
func (m *move) next(end int64) (int64, error) {
	start := m.log.StartOffset()
	if start <= end {
		return end, nil
	}
	base, err := m.log.firstBase()
	if err == nil && base != end {
		err = fmt.Errorf("%w: the copy ends at %d, the log begins at %d", ErrOffsetOutOfRange, end, base)
	}
	return start, err
}

// dropMove gives a move up and removes its copy.
func (s *Store) dropMove(m *move) error {
	s.moves.remove(m)
	return s.dropFuture(m)
}

// dropFuture has the copy removed like a deleted partition.
func (s *Store) dropFuture(m *move) error {
	future := m.future.Load()
	if err := future.abandon(); err != nil {
		return err
	}
	if err := future.rename(m.to.file(setAsideDirName(m.log.tp, deleteDirSuffix))); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	s.scheduleDelete(future.Dir())
	return nil
}

// ResumeMoves begins the moves again that were under way when the store was
// last closed. It is called once, after Load.
func (s *Store) ResumeMoves() error {
	var all error
	for _, u := range s.unfinished {
		if s.Log(u.tp) == nil || s.LogDir(u.tp) == u.in {
			s.env.logger.Warn("Found future log dir " + u.path + " without the partition that it is a copy of, left alone")
			continue
		}
		gone := u.in.file(setAsideDirName(u.tp, deleteDirSuffix))
		if err := s.env.fsys.Rename(u.path, gone); err != nil {
			all = errors.Join(all, fmt.Errorf("%w: %w", ErrStorage, err))
			continue
		}
		s.scheduleDelete(gone)
		s.env.logger.Info("The copy of " + u.tp.String() + " in " + filepath.Base(u.path) + " was not finished; it is made again")
		all = errors.Join(all, s.BeginMove(u.tp, u.in))
	}
	s.unfinished = nil
	return all
}

// unfinishedMove is a -future directory that a start found.
type unfinishedMove struct {
	tp   TopicPartition
	in   *Dir
	path string
}

// pace holds copies back so that they do not take all of the disk.
type pace struct {
	rate func() int64

	mu   sync.Mutex
	owed float64 // bytes that were copied too early
	last time.Time
}

// longestPause is how long a copy waits before it looks at the rate again.
const longestPause = time.Second

// wait waits until the n bytes that were copied fit the rate. An error ends
// the copy.
func (p *pace) wait(ctx context.Context, given <-chan struct{}, n int) error {
	for {
		if err := stopped(ctx, given); err != nil {
			return err
		}
		pause := p.pause(n)
		if pause <= 0 {
			return nil
		}
		n = 0 // counted
		timer := time.NewTimer(min(pause, longestPause))
		select {
		case <-timer.C:
		case <-given:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// pause counts n bytes and returns how long it takes until nothing is owed.
func (p *pace) pause(n int) time.Duration {
	if p.rate == nil {
		return 0
	}
	rate, now := float64(p.rate()), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed = max(0, p.owed-rate*now.Sub(p.last).Seconds()) + float64(n)
	p.last = now
	if rate <= 0 {
		return longestPause
	}
	return time.Duration(min(p.owed/rate, longestPause.Seconds()) * float64(time.Second))
}

// stopped says why a copy ends early, nil when it goes on.
func stopped(ctx context.Context, given <-chan struct{}) error {
	select {
	case <-given:
		return errMoveGivenUp
	default:
		return ctx.Err()
	}
}
