package handlers

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// TestFetchSessionAtRest: a session that keeps its place with its partitions is answered as one that looks at each of them.
func TestFetchSessionAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newDataAPI(t)
		id := a.topic("t", 3)
		size := len(records(t, "x"))
		s := answered[*kmsg.FetchResponse](a, 17, inSession(fetchFrom("", id, 0, 0, 1, 0, 2, 0), 0, 0)).SessionID
		next := func(places ...int) *kmsg.FetchRequest { return fetchFrom("", id, places...) }
		vain, epoch := 500*time.Millisecond, int32(0)
		for _, c := range []struct {
			name    string
			during  func() // after 100 ms
			request *kmsg.FetchRequest
			want    string
			took    time.Duration
			rests   bool // afterwards
		}{
			{"nothing new", nil, next(), "", vain, true},
			{"again", nil, next(), "", vain, true},
			{"and again", nil, next(), "", vain, true},
			{"a start", func() { a.mustProduce("t", 1, "x") }, next(), fmt.Sprintf("1:0@1+%d", size), 100 * time.Millisecond, false},
			{"gone on", nil, next(1, 1), "", vain, true},
			{"an offset is changed", nil, next(1, 0), fmt.Sprintf("1:0@1+%d", size), 0, false},
			{"and back", nil, next(1, 1), "", vain, true},
			{"records are deleted", func() { a.deleteRecords("t", 1, 1) }, next(), "1:0@1+0", vain, false},
			{"and then nothing", nil, next(), "", vain, true},
			{"one is forgotten", func() { a.mustProduce("t", 0, "x") }, forgetting(next(), "", id, 0), "", vain, true},
			{"for good", func() { a.mustProduce("t", 0, "x") }, next(), "", vain, true},
			{"a partition goes", func() { a.removePartition("t", 2) }, next(), "2:6@-1+0", 100 * time.Millisecond, false},
		} {
			epoch++
			c.request.MaxWaitMillis = int32(vain.Milliseconds())
			if c.during != nil {
				time.AfterFunc(100*time.Millisecond, c.during)
			}
			begin := time.Now()
			answer := answered[*kmsg.FetchResponse](a, 17, inSession(c.request, s, epoch))
			if got, took := fetched(answer), time.Since(begin); got != c.want || took != c.took || answer.SessionID != s {
				t.Errorf("%s: %q of session %d after %v, want %q of %d after %v", c.name, got, answer.SessionID, took, c.want, s, c.took)
			}
			if rests := a.data.sessions.get(s).rest != nil; rests != c.rests {
				t.Errorf("%s: rests %v, want %v", c.name, rests, c.rests)
			}
		}
	})
}

// TestRestOfASessionThatEnds: what a session has left goes with it, whoever ends it.
func TestRestOfASessionThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newDataAPI(t)
		id := a.topic("t", 1)
		begin := func() int32 {
			s := answered[*kmsg.FetchResponse](a, 17, inSession(fetchFrom("", id, 0, 0), 0, 0)).SessionID
			request := inSession(fetchFrom("", id), s, 1)
			request.MaxWaitMillis = 10
			a.fetched(17, request)
			return s
		}
		s := begin()
		kept := a.data.sessions.get(s)
		if kept.rest == nil {
			t.Fatal("the session does not rest")
		}
		a.fetched(17, inSession(fetchFrom("", id, 0, 0), s, -1))
		if kept.rest != nil {
			t.Error("what an ended session has left is there")
		}

		// One that is driven out while it waits leaves nothing.
		s = begin()
		kept = a.data.sessions.get(s)
		time.AfterFunc(time.Second, func() { a.data.sessions.remove(s) })
		request := inSession(fetchFrom("", id), s, 2)
		request.MaxWaitMillis = 2000
		if got := a.fetched(17, request); got != "" || kept.rest != nil {
			t.Errorf("driven out: %q, rests: %v", got, kept.rest != nil)
		}
	})
}

// TestRefusedPartitionsDoNotRest: who is refused a partition, or asks while rules for faults are set, has each looked at.
func TestRefusedPartitionsDoNotRest(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	s := answered[*kmsg.FetchResponse](a, 17, inSession(fetchFrom("", id, 0, 0), 0, 0)).SessionID
	serve := func(epoch int32, refuse func(string, int32) int16) (size int) {
		body := inSession(fetchFrom("", id), s, epoch)
		body.Version, body.MaxWaitMillis = 17, 1
		response, err := a.Handle(t.Context(), &protocol.Request{Key: 1, Version: 17, Body: body, Listener: "PLAINTEXT", Refuse: refuse})
		if err != nil {
			t.Fatal(err)
		}
		defer response.Release()
		return len(response.Parts[0].Bytes)
	}
	empty := serve(1, nil)
	if a.data.sessions.get(s).rest == nil {
		t.Fatal("the session does not rest")
	}
	refuse := func(string, int32) int16 { return codeNotLeaderOrFollower }
	if got := serve(2, refuse); got <= empty {
		t.Errorf("refused: %d bytes, as many as an empty answer", got)
	}
	if a.data.sessions.get(s).rest != nil {
		t.Error("a refused session rests")
	}
}

// deleteRecords raises the log start offset of a partition.
func (a *dataAPI) deleteRecords(topic string, number int32, offset int64) {
	a.t.Helper()
	if _, err := a.logOf(topic, number).DeleteRecords(offset, offset); err != nil {
		a.t.Fatal(err)
	}
}
