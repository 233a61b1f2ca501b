package group

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// two makes a stable group of two members in generation 2, the first of which
// leads.
func (b *bench) two(groupID string) (leader, follower string) {
	b.t.Helper()
	leader = b.stable(groupID)
	joining := b.joins(ask(groupID, ""))
	synctest.Wait()
	b.mustJoin(ask(groupID, leader))
	follower = (<-joining).MemberID
	waiting := b.syncs(groupID, 2, follower)
	synctest.Wait()
	b.sync(groupID, 2, leader, leader, "one", follower, "two")
	<-waiting
	return leader, follower
}

func TestSyncMistakes(t *testing.T) {
	b := newBench(t)
	id := b.stable("g")
	other := "other"
	cases := []struct {
		name string
		r    SyncRequest
		want error
	}{
		{"no group id", SyncRequest{MemberID: id, Generation: 1}, ErrInvalidGroupID},
		{"unknown group", SyncRequest{GroupID: "none", MemberID: id, Generation: 1}, ErrUnknownMember},
		{"unknown member", SyncRequest{GroupID: "g", MemberID: "nobody", Generation: 1}, ErrUnknownMember},
		{"old generation", SyncRequest{GroupID: "g", MemberID: id, Generation: 0}, ErrIllegalGeneration},
		{"other protocol", SyncRequest{GroupID: "g", MemberID: id, Generation: 1, Protocol: &other}, ErrInconsistentProtocol},
		{"other protocol type", SyncRequest{GroupID: "g", MemberID: id, Generation: 1, ProtocolType: &other}, ErrInconsistentProtocol},
	}
	for _, c := range cases {
		r, err := b.Sync(context.Background(), &c.r)
		if err != nil || r.Err != c.want {
			t.Errorf("%s: %v, want %v", c.name, r.Err, c.want)
		}
	}
	if r := b.sync("g", 1, id, id, "more"); string(r.Assignment) != "all" {
		t.Errorf("a second division took effect: %q, %v", r.Assignment, r.Err)
	}
}

func TestMemberWithoutPartGetsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		leader, follower := b.two("g")
		b.joins(ask("g", leader))
		synctest.Wait()
		b.mustJoin(ask("g", follower))
		waiting := b.syncs("g", 3, follower)
		synctest.Wait()
		b.sync("g", 3, leader, leader, "all", "stranger", "x")
		if r := <-waiting; r.Err != nil || len(r.Assignment) != 0 {
			t.Errorf("got %q, %v", r.Assignment, r.Err)
		}
	})
}

func TestLeaderThatDoesNotSyncIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		leader := b.stable("g")
		joining := b.joins(ask("g", ""))
		synctest.Wait()
		b.mustJoin(ask("g", leader))
		follower := (<-joining).MemberID
		waiting := b.syncs("g", 2, follower)
		for range 3 { // it lives, but does not divide the work
			time.Sleep(3 * time.Second)
			if err := b.beat("g", 2, leader); err != nil {
				t.Fatal(err)
			}
		}
		b.wantState("g", "CompletingRebalance")
		time.Sleep(2 * time.Second)
		b.wantErr((<-waiting).Err, ErrRebalanceInProgress)
		b.wantErr(b.beat("g", 2, leader), ErrUnknownMember)
		if r := b.mustJoin(ask("g", follower)); r.Generation != 3 || r.LeaderID != follower {
			t.Errorf("answer %+v", r)
		}
	})
}

func TestSyncThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		leader := b.stable("g")
		joining := b.joins(ask("g", ""))
		synctest.Wait()
		b.mustJoin(ask("g", leader))
		follower := (<-joining).MemberID
		waiting := b.syncs("g", 2, follower)
		synctest.Wait()
		b.log.failWith(errDisk)
		b.wantErr(b.sync("g", 2, leader, leader, "x").Err, ErrStorage)
		b.wantErr((<-waiting).Err, ErrStorage)
		b.wantState("g", "PreparingRebalance")
		b.log.failWith(nil)
		b.joins(ask("g", leader))
		if r := b.mustJoin(ask("g", follower)); r.Generation != 3 {
			t.Errorf("answer %+v", r)
		}
	})
}

func TestAssignmentTooLargeForTheLog(t *testing.T) {
	b := newBench(t)
	b.log.max = 400
	id := b.mustJoin(ask("g", "")).MemberID
	b.wantErr(b.sync("g", 1, id, id, string(make([]byte, 500))).Err, ErrRecordsTooLarge)
}

func TestHeartbeatMistakes(t *testing.T) {
	b := newBench(t)
	b.wantErr(b.beat("", 1, "x"), ErrInvalidGroupID)
	b.wantErr(b.beat("g", 1, "x"), ErrUnknownMember)
	id := b.stable("g")
	b.wantErr(b.beat("g", 1, "x"), ErrUnknownMember)
	b.wantErr(b.beat("g", 0, id), ErrIllegalGeneration)
	b.wantErr(b.beat("g", 2, id), ErrIllegalGeneration)
	b.wantErr(b.beat("g", 1, id), nil)
}

func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		id := b.stable("g")
		for range 5 {
			time.Sleep(9 * time.Second)
			if err := b.beat("g", 1, id); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(9 * time.Second)
		if err := b.commit("g", id, 1, "t", 1); err != nil { // a sign of life too
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		b.wantState("g", "Stable")
		time.Sleep(1001 * time.Millisecond)
		synctest.Wait()
		b.wantState("g", "Empty")
		b.wantErr(b.beat("g", 1, id), ErrUnknownMember)
		if got := b.log.types(t, 0); !slices.Equal(got, []int16{2, 2, 1, 2}) {
			t.Errorf("records %v", got)
		}
	})
}

func TestNewMemberWaitsFiveMinutesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := func(r *JoinRequest) { r.RebalanceTimeoutMs, r.SessionTimeoutMs = 20*60*1000, 1800000 }
		b := newBench(t)
		b.stable("g", long) // does not come back for a long time
		began := time.Now()
		r := b.join(ask("g", "", long))
		b.wantErr(r.Err, ErrUnknownMember)
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestJoinEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stable("g")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := b.Join(ctx, ask("g", "")); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
}

func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		leader, follower := b.two("g")
		errs, err := b.Leave("g", []Leaving{{MemberID: leader}, {MemberID: "nobody"}})
		if err != nil || !slices.Equal(errs, []error{nil, ErrUnknownMember}) {
			t.Fatalf("%v, %v", errs, err)
		}
		b.wantErr(b.beat("g", 2, leader), ErrUnknownMember)
		b.wantErr(b.beat("g", 2, follower), ErrRebalanceInProgress)
		if r := b.mustJoin(ask("g", follower)); r.LeaderID != follower || r.Generation != 3 {
			t.Errorf("answer %+v", r)
		}
		end := b.log.EndOffset()
		b.Leave("g", []Leaving{{MemberID: follower}})
		b.wantState("g", "Empty")
		if got := b.log.types(t, end); !slices.Equal(got, []int16{2}) {
			t.Errorf("records %v", got)
		}
		errs, err = b.Leave("none", []Leaving{{MemberID: "a"}, {MemberID: "b"}})
		if err != nil || !slices.Equal(errs, []error{ErrUnknownMember, ErrUnknownMember}) {
			t.Errorf("%v, %v", errs, err)
		}
		_, err = b.Leave("", nil)
		b.wantErr(err, ErrInvalidGroupID)
	})
}

func TestLeaveOfPendingAndWaitingMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		leader := b.stable("g")
		pending := b.join(ask("g", "", needsID)).MemberID
		waiting := b.joins(ask("g", leader))
		synctest.Wait()
		b.wantState("g", "PreparingRebalance")
		if errs, _ := b.Leave("g", []Leaving{{MemberID: pending}}); errs[0] != nil {
			t.Fatal(errs[0])
		}
		if r := <-waiting; r.Generation != 2 {
			t.Fatalf("answer %+v", r)
		}
		another := b.joins(ask("g", ""))
		synctest.Wait()
		d, _ := b.Describe("g")
		for _, m := range d.Members {
			if m.ID != leader {
				b.Leave("g", []Leaving{{MemberID: m.ID}})
			}
		}
		b.wantErr((<-another).Err, ErrUnknownMember)
	})
}

func TestStaticMemberComesBack(t *testing.T) {
	b := newBench(t)
	old := b.stable("g", static("one"))
	end := b.log.EndOffset()
	r := b.mustJoin(ask("g", "", static("one"), func(r *JoinRequest) { r.CanSkipAssignment = true }))
	if r.Generation != 1 || r.LeaderID != r.MemberID || !r.SkipAssignment || len(r.Members) != 1 || r.MemberID == old {
		t.Fatalf("answer %+v", r)
	}
	if got := b.log.types(t, end); !slices.Equal(got, []int16{2}) {
		t.Errorf("records %v", got)
	}
	one, two := "one", "two"
	fenced := &HeartbeatRequest{GroupID: "g", Generation: 1, MemberID: old, InstanceID: &one}
	b.wantErr(b.Heartbeat(fenced), ErrFencedInstance)
	b.wantErr(b.join(ask("g", old, static("one"))).Err, ErrFencedInstance)
	s, _ := b.Sync(context.Background(), &SyncRequest{GroupID: "g", Generation: 1, MemberID: old, InstanceID: &one})
	b.wantErr(s.Err, ErrFencedInstance)
	_, err := b.Commit(&CommitRequest{GroupID: "g", Committer: Committer{MemberID: old, Generation: 1, InstanceID: &one}, RetentionMs: -1})
	b.wantErr(err, ErrFencedInstance)
	errs, _ := b.Leave("g", []Leaving{{MemberID: old, InstanceID: &one}, {InstanceID: &two}})
	if !slices.Equal(errs, []error{ErrFencedInstance, ErrUnknownMember}) {
		t.Errorf("leave: %v", errs)
	}
	if got := b.sync("g", 1, r.MemberID); string(got.Assignment) != "all" {
		t.Errorf("assignment %q, %v", got.Assignment, got.Err)
	}
	// An older client must not take itself for the leader: it would divide anew.
	again := b.mustJoin(ask("g", "", static("one")))
	if again.LeaderID != r.MemberID || again.Members != nil || again.SkipAssignment {
		t.Errorf("answer %+v", again)
	}
	errs, _ = b.Leave("g", []Leaving{{InstanceID: &one}})
	b.wantErr(errs[0], nil)
	b.wantState("g", "Empty")
}

func TestStaticMemberWithOtherProtocolRebalances(t *testing.T) {
	b := newBench(t)
	b.stable("g", static("one"), protocols("a", "b"))
	r := b.mustJoin(ask("g", "", static("one"), protocols("b")))
	if r.Generation != 2 || *r.Protocol != "b" {
		t.Errorf("answer %+v", r)
	}
	// In the sync phase too: the leader may be about to name the old id.
	if r := b.mustJoin(ask("g", "", static("one"), protocols("b"))); r.Generation != 3 {
		t.Errorf("answer %+v", r)
	}
}

func TestStaticMemberFencesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stable("g")
		first := b.joins(ask("g", "", static("one")))
		synctest.Wait()
		second := b.joins(ask("g", "", static("one")))
		b.wantErr((<-first).Err, ErrFencedInstance)
		if r := <-second; r.Generation != 2 {
			t.Errorf("answer %+v", r)
		}
	})
}

func TestStaticMemberThatCannotBeWritten(t *testing.T) {
	b := newBench(t)
	old := b.stable("g", static("one"))
	b.log.failWith(errDisk)
	b.wantErr(b.join(ask("g", "", static("one"))).Err, ErrStorage)
	one := "one"
	b.wantErr(b.Heartbeat(&HeartbeatRequest{GroupID: "g", Generation: 1, MemberID: old, InstanceID: &one}), nil)
	b.wantState("g", "Stable")
}

func TestStaticMembersSurviveARebalanceTheyMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		long := func(r *JoinRequest) { r.SessionTimeoutMs = 60000 }
		b.stable("g", static("one"), long)
		r := b.mustJoin(ask("g", "")) // waits for the rebalance timeout
		if r.Generation != 2 || r.LeaderID != r.MemberID || len(r.Members) != 2 {
			t.Fatalf("answer %+v", r)
		}
		// Without anybody else nothing can be completed until the session ends.
		b.sync("g", 2, r.MemberID)
		b.Leave("g", []Leaving{{MemberID: r.MemberID}})
		time.Sleep(11 * time.Second)
		b.wantState("g", "PreparingRebalance")
		time.Sleep(60 * time.Second)
		b.wantState("g", "Empty")
	})
}
