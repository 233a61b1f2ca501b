package group

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFirstMemberLeads(t *testing.T) {
	b := newBench(t)
	r := b.mustJoin(ask("g", ""))
	if r.Generation != 1 || r.LeaderID != r.MemberID || *r.Protocol != "range" || r.ProtocolType != "consumer" || len(r.Members) != 1 {
		t.Fatalf("answer %+v", r)
	}
	if !strings.HasPrefix(r.MemberID, "client-") || len(r.MemberID) != len("client-")+36 {
		t.Errorf("member id %q", r.MemberID)
	}
	b.wantState("g", "CompletingRebalance")
	if got := b.log.types(t, 0); !slices.Equal(got, []int16{2}) {
		t.Errorf("records %v", got)
	}
}

func TestMemberIDRequired(t *testing.T) {
	b := newBench(t)
	r := b.join(ask("g", "", needsID))
	b.wantErr(r.Err, ErrMemberIDRequired)
	b.wantState("g", "Empty")
	if again := b.mustJoin(ask("g", r.MemberID, needsID)); again.MemberID != r.MemberID || again.Generation != 1 {
		t.Fatalf("answer %+v", again)
	}
}

func TestPendingMemberExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		leader := b.stable("g")
		r := b.join(ask("g", "", needsID))
		b.wantErr(r.Err, ErrMemberIDRequired)
		// It holds up a rebalance as long as it may come back.
		again := b.joins(ask("g", leader))
		synctest.Wait()
		b.wantState("g", "PreparingRebalance")
		time.Sleep(9900 * time.Millisecond)
		synctest.Wait()
		b.wantState("g", "PreparingRebalance")
		time.Sleep(200 * time.Millisecond)
		if got := <-again; got.Err != nil || got.Generation != 2 || len(got.Members) != 1 {
			t.Fatalf("answer %+v", got)
		}
		b.wantErr(b.join(ask("g", r.MemberID)).Err, ErrUnknownMember)
	})
}

func TestJoinMistakes(t *testing.T) {
	b := newBench(t, func(s *Settings) { s.MaxSize = 2 })
	member := b.stable("g")
	cases := []struct {
		name string
		r    *JoinRequest
		want error
	}{
		{"no group id", ask("", ""), ErrInvalidGroupID},
		{"short session", ask("g", "", func(r *JoinRequest) { r.SessionTimeoutMs = 999 }), ErrInvalidSessionTimeout},
		{"long session", ask("g", "", func(r *JoinRequest) { r.SessionTimeoutMs = 1800001 }), ErrInvalidSessionTimeout},
		{"unknown member", ask("g", "nobody"), ErrUnknownMember},
		{"unknown member, unknown group", ask("none", "nobody"), ErrUnknownMember},
		{"other protocol", ask("g", "", protocols("sticky")), ErrInconsistentProtocol},
		{"other protocol type", ask("g", "", func(r *JoinRequest) { r.ProtocolType = "connect" }), ErrInconsistentProtocol},
		{"no protocol", ask("g", "", protocols()), ErrInconsistentProtocol},
		{"known member, other protocol", ask("g", member, protocols("sticky")), ErrInconsistentProtocol},
		{"instance of nobody", ask("g", member, static("i")), ErrUnknownMember},
		{"new group, no protocol", ask("new", "", protocols()), ErrInconsistentProtocol},
		{"new group, no protocol type", ask("new", "", func(r *JoinRequest) { r.ProtocolType = "" }), ErrInconsistentProtocol},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			r := b.join(c.r)
			b.wantErr(r.Err, c.want)
			if r.MemberID != c.r.MemberID {
				t.Errorf("member id %q, want %q", r.MemberID, c.r.MemberID)
			}
		})
	}
	b.t = t
	b.wantState("g", "Stable")
}

func TestGroupMaxSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *Settings) { s.MaxSize = 2 })
		first := b.stable("g")
		second := b.joins(ask("g", ""))
		synctest.Wait()
		// In the join phase those count who have come: one, so there is room
		// for another, and the first member comes too late.
		third := b.joins(ask("g", ""))
		synctest.Wait()
		b.wantErr(b.join(ask("g", first)).Err, ErrGroupMaxSize)
		time.Sleep(11 * time.Second)
		a, c := <-second, <-third
		if a.Err != nil || c.Err != nil || a.Generation != 2 {
			t.Fatalf("answers %+v, %+v", a, c)
		}
		b.wantErr(b.join(ask("g", "")).Err, ErrGroupMaxSize)
	})
}

func TestInitialDelayGathersMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *Settings) { s.InitialRebalanceDelayMs = 3000 })
		began := time.Now()
		first := b.joins(ask("g", ""))
		time.Sleep(2 * time.Second)
		second := b.joins(ask("g", ""))
		a, c := <-first, <-second
		if a.Generation != 1 || c.Generation != 1 || len(a.Members) != 2 || len(c.Members) != 0 {
			t.Fatalf("answers %+v, %+v", a, c)
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("the second member prolonged the delay to %v, want 6s", took)
		}
	})
}

func TestInitialDelayEndsWithTheRebalanceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *Settings) { s.InitialRebalanceDelayMs = 3000 })
		began := time.Now()
		first := b.joins(ask("g", ""))
		var others []<-chan JoinResult
		for range 5 { // one comes in each stretch of the delay
			time.Sleep(1900 * time.Millisecond)
			others = append(others, b.joins(ask("g", "")))
		}
		<-first
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("took %v, want the rebalance timeout of 10s", took)
		}
		for _, o := range others {
			if r := <-o; r.Generation != 1 {
				t.Errorf("answer %+v", r)
			}
		}
	})
}

func TestSecondMemberRebalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := b.stable("g")
		joining := b.joins(ask("g", ""))
		synctest.Wait()
		b.wantState("g", "PreparingRebalance")
		b.wantErr(b.beat("g", 1, first), ErrRebalanceInProgress)
		b.wantErr(b.sync("g", 1, first).Err, ErrRebalanceInProgress)
		if err := b.commit("g", first, 1, "t", 5); err != nil {
			t.Errorf("commit while preparing: %v", err)
		}
		leader := b.mustJoin(ask("g", first))
		other := <-joining
		if leader.Generation != 2 || len(leader.Members) != 2 || leader.LeaderID != first || other.LeaderID != first || other.Members != nil {
			t.Fatalf("answers %+v, %+v", leader, other)
		}
		b.wantErr(b.commit("g", first, 2, "t", 6), ErrRebalanceInProgress)
		waiting := b.syncs("g", 2, other.MemberID)
		synctest.Wait()
		if r := b.sync("g", 2, first, first, "one", other.MemberID, "two"); string(r.Assignment) != "one" {
			t.Errorf("leader got %q, %v", r.Assignment, r.Err)
		}
		if r := <-waiting; string(r.Assignment) != "two" {
			t.Errorf("follower got %q, %v", r.Assignment, r.Err)
		}
		b.wantState("g", "Stable")
	})
}

func TestLateMemberIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := b.stable("g", func(r *JoinRequest) { r.SessionTimeoutMs = 60000 })
		second := <-b.joins(ask("g", ""))
		_ = first
		if second.Err != nil || second.Generation != 2 || len(second.Members) != 1 || second.LeaderID != second.MemberID {
			t.Fatalf("answer %+v", second)
		}
		b.wantErr(b.beat("g", 1, first), ErrUnknownMember)
	})
}

func TestFollowerJoinsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := b.stable("g")
		joining := b.joins(ask("g", ""))
		synctest.Wait()
		b.mustJoin(ask("g", first))
		second := (<-joining).MemberID
		// Before the sync the answer is repeated to both.
		if r := b.mustJoin(ask("g", first)); r.Generation != 2 || len(r.Members) != 2 {
			t.Errorf("leader's repeated join: %+v", r)
		}
		if r := b.mustJoin(ask("g", second)); r.Generation != 2 || r.Members != nil {
			t.Errorf("follower's repeated join: %+v", r)
		}
		b.sync("g", 2, first)
		if r := b.mustJoin(ask("g", second)); r.Generation != 2 {
			t.Errorf("an unchanged follower starts no rebalance: %+v", r)
		}
		b.wantState("g", "Stable")
		changed := b.joins(ask("g", second, func(r *JoinRequest) { r.Protocols[0].Metadata = []byte("new") }))
		synctest.Wait()
		b.wantState("g", "PreparingRebalance")
		if r := b.mustJoin(ask("g", first)); r.Generation != 3 {
			t.Errorf("answer %+v", r)
		}
		<-changed
		again := b.joins(ask("g", first, func(r *JoinRequest) { r.Protocols[0].Metadata = []byte("new") }))
		synctest.Wait()
		b.wantState("g", "PreparingRebalance")
		b.mustJoin(ask("g", second))
		<-again
	})
}

func TestProtocolOfMostVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(s *Settings) { s.InitialRebalanceDelayMs = 1000 })
		all := []<-chan JoinResult{
			b.joins(ask("g", "", protocols("a", "b", "c"))),
			b.joins(ask("g", "", protocols("b", "a"))),
			b.joins(ask("g", "", protocols("c", "b", "a"))),
		}
		for _, answer := range all {
			if r := <-answer; r.Err != nil || *r.Protocol != "b" { // c is not everybody's; b has two votes
				t.Errorf("protocol %q, %v", *r.Protocol, r.Err)
			}
		}
	})
}

func TestJoinGivesWayToTheNextOfTheSameMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := b.stable("g")
		second := b.joins(ask("g", ""))
		third := b.joins(ask("g", ""))
		synctest.Wait()
		a := b.joins(ask("g", first))
		synctest.Wait()
		ra, r2, r3 := <-a, <-second, <-third
		if ra.Generation != 2 || r2.Generation != 2 || r3.Generation != 2 {
			t.Fatalf("answers %+v, %+v, %+v", ra, r2, r3)
		}
		one := b.joins(ask("g", r2.MemberID, func(r *JoinRequest) { r.Protocols[0].Metadata = []byte("x") }))
		synctest.Wait()
		two := b.joins(ask("g", r2.MemberID, func(r *JoinRequest) { r.Protocols[0].Metadata = []byte("y") }))
		b.wantErr((<-one).Err, ErrRebalanceInProgress)
		b.joins(ask("g", first))
		b.joins(ask("g", r3.MemberID))
		if r := <-two; r.Generation != 3 {
			t.Fatalf("answer %+v", r)
		}
	})
}

func TestNewGroupIsNotKeptWhenItCannotBeWritten(t *testing.T) {
	b := newBench(t)
	b.log.failWith(errDisk)
	b.wantErr(b.join(ask("g", "")).Err, ErrStorage)
	if _, err := b.Describe("g"); err == nil {
		t.Error("the group is there")
	}
	b.log.failWith(nil)
	b.stable("g")
}

// TestMembersThatStartTogether expects one generation for those who come at the same
// moment, though a first generation is not to be delayed, and that nobody is waited
// for long.
func TestMembersThatStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		began := time.Now()
		first := b.joins(ask("g", ""))
		time.Sleep(4 * time.Millisecond)
		second := b.joins(ask("g", ""))
		time.Sleep(4 * time.Millisecond)
		id := b.join(ask("g", "", needsID)).MemberID
		time.Sleep(8 * time.Millisecond)
		third := b.joins(ask("g", id, needsID))
		time.Sleep(6 * time.Millisecond)
		b.Sought("g")
		time.Sleep(6 * time.Millisecond)
		fourth := b.joins(ask("g", ""))
		for _, answer := range []<-chan JoinResult{first, second, third, fourth} {
			if r := <-answer; r.Err != nil || r.Generation != 1 {
				t.Errorf("%+v", r)
			}
		}
		if took := time.Since(began); took > 42*time.Millisecond {
			t.Errorf("took %v", took)
		}
		b.wantState("g", "CompletingRebalance")

		began = time.Now()
		alone := b.joins(ask("alone", ""))
		b.join(ask("alone", "", needsID)) // never comes back
		if r := <-alone; r.Err != nil || r.Generation != 1 {
			t.Errorf("%+v", r)
		}
		if took := time.Since(began); took != gatherRounds*gatherFor {
			t.Errorf("took %v", took)
		}
	})
}

// TestSlowButTimelyMembers has a second member come three seconds after the first and
// the first come back two seconds after that, both with no more time than their
// sessions, as clients have that know no rebalance timeout: none is out, also after
// a restart.
func TestSlowButTimelyMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := b.stable("g")
		for _, generation := range []int32{2, 4} {
			time.Sleep(3 * time.Second)
			second := b.joins(ask("g", ""))
			time.Sleep(2 * time.Second)
			b.wantErr(b.beat("g", generation-1, first), ErrRebalanceInProgress)
			joined := b.mustJoin(ask("g", first))
			other := <-second
			if joined.Generation != generation || other.Generation != generation || len(joined.Members) != 2 {
				t.Fatalf("%+v, %+v", joined, other)
			}
			waiting := b.syncs("g", generation, other.MemberID)
			synctest.Wait()
			b.wantErr(b.sync("g", generation, first, first, "one", other.MemberID, "two").Err, nil)
			if s := <-waiting; string(s.Assignment) != "two" {
				t.Fatalf("%+v", s)
			}
			b = b.reload()
			b.wantState("g", "Stable")
			b.wantErr(b.beat("g", generation, other.MemberID), nil)
			b.Leave("g", []Leaving{{MemberID: other.MemberID}})
			if r := b.mustJoin(ask("g", first)); r.Generation != generation+1 {
				t.Fatalf("%+v", r)
			}
			b.wantErr(b.sync("g", generation+1, first, first, "all").Err, nil)
		}
	})
}
