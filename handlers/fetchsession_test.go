package handlers

import (
	"math"
	"testing"
	"time"
)

func TestNextSessionEpochNeverAsksForANewSession(t *testing.T) {
	for epoch, want := range map[int32]int32{-1: -1, 0: 1, 1: 2, math.MaxInt32 - 1: math.MaxInt32, math.MaxInt32: 1} {
		if got := nextSessionEpoch(epoch); got != want {
			t.Errorf("after epoch %d comes %d, want %d", epoch, got, want)
		}
	}
}

func TestSessionsWithoutRoom(t *testing.T) {
	now := time.Now()
	if s := newFetchSessions(0).create(1, true, false, now); s != nil {
		t.Error("a cache without slots made a session")
	}
	f := newFetchSessions(2)
	first, second := f.create(1, true, false, now), f.create(1, true, false, now)
	if first == nil || second == nil || first.id == second.id || first.id <= 0 || first.epoch != 1 {
		t.Fatalf("sessions %+v and %+v", first, second)
	}
	// Young sessions are safe from clients, however large theirs is.
	if s := f.create(100, true, false, now.Add(time.Minute)); s != nil {
		t.Error("a session of a minute was driven out")
	}
	// A follower's session may drive out a client's.
	if s := f.create(1, true, true, now.Add(time.Minute)); s == nil {
		t.Error("a follower found no room")
	}
	if f.get(first.id) != nil && f.get(second.id) != nil {
		t.Error("nobody was driven out")
	}
}

func TestAnUnusedSessionIsDrivenOut(t *testing.T) {
	now := time.Now()
	f := newFetchSessions(2)
	old, used := f.create(9, true, false, now), f.create(9, true, false, now)
	f.touch(used, 9, now.Add(time.Minute))
	later := now.Add(sessionProtection + time.Second)
	if s := f.create(1, true, false, later); s == nil {
		t.Fatal("no room although a session was not used for two minutes")
	}
	if f.get(old.id) != nil {
		t.Error("the unused session is still there")
	}
	if f.get(used.id) == nil {
		t.Error("the used session is gone")
	}
	// A request may still hold the session that is gone.
	f.touch(old, 9, later)
	if f.get(old.id) != nil || f.byUse.Len() != 2 {
		t.Error("touching a session that is gone brought it back")
	}
}

func TestALargerSessionDrivesOutASmallerOldOne(t *testing.T) {
	now := time.Now()
	f := newFetchSessions(2)
	small, large := f.create(1, true, false, now), f.create(5, true, false, now)
	later := now.Add(sessionProtection + time.Second)
	f.touch(small, 1, later)
	f.touch(large, 5, later)
	if s := f.create(1, true, false, later); s != nil {
		t.Error("an equally small session drove out an old one")
	}
	if s := f.create(3, true, false, later); s == nil {
		t.Error("a larger session found no room")
	}
	if f.get(small.id) != nil || f.get(large.id) == nil {
		t.Error("not the smallest session was driven out")
	}
}

func TestNewsOfASessionPartition(t *testing.T) {
	p := sessionPartition{highWatermark: 5, logStartOffset: 1}
	steps := []struct {
		name              string
		code              int16
		diverging         bool
		size, high, start int64
		news              bool
	}{
		{"nothing", codeNone, false, 0, 5, 1, false},
		{"records", codeNone, false, 70, 5, 1, true},
		{"nothing after records", codeNone, false, 0, 5, 1, false},
		{"high watermark", codeNone, false, 0, 6, 1, true},
		{"log start", codeNone, false, 0, 6, 2, true},
		{"error", codeOffsetOutOfRange, false, 0, -1, -1, true},
		{"error again", codeOffsetOutOfRange, false, 0, -1, -1, true},
		{"error gone", codeNone, false, 0, 6, 2, true},
		{"settled", codeNone, false, 0, 6, 2, false},
		{"diverging", codeNone, true, 0, 6, 2, true},
		{"no longer diverging", codeNone, false, 0, 6, 2, true},
	}
	for _, s := range steps {
		if got := p.news(s.code, s.diverging, s.size, s.high, s.start); got != s.news {
			t.Errorf("%s: news %v", s.name, got)
		}
	}
}

func TestSessionOrderAndForgetting(t *testing.T) {
	s := newFetchSessions(1).create(3, false, false, time.Now())
	for i := range int32(3) {
		s.addLocked(fetchWant{topic: "t", partition: i, fetchOffset: 10})
	}
	s.addLocked(fetchWant{topic: "t", partition: 1, fetchOffset: 20})
	s.removeLocked(fetchKey{topic: "t", partition: 0})
	s.removeLocked(fetchKey{topic: "t", partition: 0})
	var got []int64
	for at := s.order.Front(); at != nil; at = at.Next() {
		p := at.Value.(*sessionPartition)
		got = append(got, int64(p.partition), p.fetchOffset)
	}
	want := []int64{1, 20, 2, 10}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Errorf("partitions and offsets %v, want %v", got, want)
	}
}

func TestSessionsAreBoundedTogether(t *testing.T) {
	now := time.Now()
	f := newFetchSessions(10)
	if f.create(mostSessionPartitions+1, true, false, now) != nil {
		t.Error("a session of too many partitions was made")
	}
	large, small := f.create(mostSessionPartitions-10, true, false, now), f.create(10, true, false, now)
	if large == nil || small == nil {
		t.Fatal("no room for what fits")
	}
	if f.create(1, true, false, now) != nil {
		t.Error("a session was made beyond the bound")
	}
	if f.touch(small, 11, now) || f.get(small.id) != nil {
		t.Error("a session grew beyond the bound")
	}
	if f.partitions != large.size {
		t.Errorf("%d partitions are counted, want %d", f.partitions, large.size)
	}
	f.remove(large.id)
	f.remove(large.id)
	if f.partitions != 0 || f.create(1, true, false, now) == nil {
		t.Errorf("%d partitions are counted in no session", f.partitions)
	}
}
