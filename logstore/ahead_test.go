package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"minibroker/internal/vfs"
)

// storeToSurvey is a data directory with a few logs, some with batches, after a clean stop.
func storeToSurvey(t *testing.T) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, Dirs: []string{"/data"}, NodeID: 1})
	for i := range countedLogs {
		l, err := s.Create(TopicPartition{Topic: fmt.Sprint("t", i)}, NewUUID(), nil, DefaultConfig())
		must(t, err)
		if i%4 == 0 {
			_, err := l.Append(numbered(t, 0, 3), AppendOptions{})
			must(t, err)
		}
	}
	must(t, s.Close(CleanStop{}))
	return mem
}

// loadedState is what a load has found: ids and ends by partition.
func loadedState(s *Store) map[TopicPartition]string {
	state := map[TopicPartition]string{}
	for _, l := range s.Logs() {
		state[l.TopicPartition()] = fmt.Sprint(l.TopicID(), l.StartOffset(), l.EndOffset(), l.Size())
	}
	return state
}

// TestSurveyAhead: what was looked at before the load is not looked at again, and the logs are the same as without.
func TestSurveyAhead(t *testing.T) {
	mem, calls := storeToSurvey(t), &countedCalls{byKind: map[vfs.Kind]int{}}
	var states []map[TopicPartition]string
	for _, ahead := range []bool{false, true} {
		s, err := Open(Options{FS: vfs.NewFaulty(mem, calls.note), Dirs: []string{"/data"}, NodeID: 1})
		must(t, err)
		if ahead {
			s.SurveyAhead()
			s.ahead.working.Wait()
		}
		calls.take()
		must(t, s.Load(context.Background()))
		if lists := calls.take()[vfs.OpReadDir]; ahead && lists > 0 || !ahead && lists <= countedLogs {
			t.Errorf("ahead %v: %d directories were listed by the load", ahead, lists)
		}
		states = append(states, loadedState(s))
		must(t, s.Close(CleanStop{}))
	}
	if len(states[0]) != countedLogs || !maps.Equal(states[0], states[1]) {
		t.Errorf("without: %v\nwith: %v", states[0], states[1])
	}
}

// TestSurveyAheadEnds: a load, a close or an abort that comes while directories are looked at.
func TestSurveyAheadEnds(t *testing.T) {
	mem := storeToSurvey(t)
	for round, end := range []func(*Store) error{
		func(s *Store) error { return s.Load(context.Background()) },
		func(s *Store) error { return s.Abort() },
		func(s *Store) error { return s.Close(CleanStop{}) },
	} {
		for range 20 {
			s, err := Open(Options{FS: mem, Dirs: []string{"/data"}, NodeID: 1})
			must(t, err)
			s.SurveyAhead()
			must(t, end(s))
			if n := len(s.Logs()); round == 0 && n != countedLogs {
				t.Fatalf("%d logs", n)
			}
			must(t, s.Close(CleanStop{}))
		}
	}
	s := openStore(t, Options{FS: mem, Dirs: []string{"/data"}, NodeID: 1})
	must(t, s.Close(CleanStop{}))
	if found, err := Verify(mem, "/data"); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestSurveyAheadFails: what cannot be read ahead is read by the load; only what that cannot read is told.
func TestSurveyAheadFails(t *testing.T) {
	mem := storeToSurvey(t)
	broken, no := atomic.Bool{}, errors.New("no")
	faulty := vfs.NewFaulty(mem, func(op vfs.Op) error {
		if broken.Load() && slices.Contains([]vfs.Kind{vfs.OpReadDir, vfs.OpRead, vfs.OpOpen}, op.Kind) {
			return &fs.PathError{Op: "read", Path: op.Name, Err: no}
		}
		return nil
	})
	for _, still := range []bool{false, true} {
		s, err := Open(Options{FS: faulty, Dirs: []string{"/data"}, NodeID: 1})
		must(t, err)
		broken.Store(true)
		s.SurveyAhead()
		s.ahead.working.Wait()
		broken.Store(still)
		if err := s.Load(context.Background()); (err != nil) != still || still && !errors.Is(err, no) {
			t.Errorf("still broken %v: %v", still, err)
		}
		broken.Store(false)
		if n := len(s.Logs()); !still && n != countedLogs {
			t.Errorf("%d logs", n)
		}
		must(t, s.Abort())
	}
}
