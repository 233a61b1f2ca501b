package group

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// reader is what a classic member says that reads a, and has some of it.
func reader(has ...int32) func(*JoinRequest) {
	return func(r *JoinRequest) {
		m := kmsg.NewConsumerMemberMetadata()
		m.Version, m.Topics = 3, []string{"a"}
		if len(has) > 0 {
			o := kmsg.NewConsumerMemberMetadataOwnedPartition()
			o.Topic, o.Partitions = "a", has
			m.OwnedPartitions = append(m.OwnedPartitions, o)
		}
		r.Protocols = []Protocol{{"range", m.AppendTo(nil)}}
		r.SessionTimeoutMs, r.RebalanceTimeoutMs = 30000, 20000
	}
}

// has reads an assignment.
func (b *bench) has(s SyncResult) []int32 {
	b.t.Helper()
	b.wantErr(s.Err, nil)
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(s.Assignment); err != nil {
		b.t.Fatal(err)
	}
	list := []int32{}
	for _, t := range a.Topics {
		list = append(list, t.Partitions...)
	}
	return list
}

// classicOfOne makes a classic group of one member that has all of a.
func (b *bench) classicOfOne() string {
	b.t.Helper()
	r := b.mustJoin(ask("g", "", reader()))
	part := classicAssignment(partitionSet{topicA().ID: {0, 1, 2, 3}}, b.topics, 3)
	s, err := b.Sync(b.t.Context(), &SyncRequest{GroupID: "g", Generation: r.Generation, MemberID: r.MemberID, Assignments: []Assignment{{r.MemberID, part}}})
	if err != nil || s.Err != nil {
		b.t.Fatal(err, s.Err)
	}
	return r.MemberID
}

func TestUpgradeAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		old := b.classicOfOne()
		at := b.log.end
		// A member of the new protocol makes the group a consumer group.
		b.say(hello("m2"), 2)
		if got, want := b.log.types(t, at), []int16{-2, 5, 3, 7, 6, 8, 5, 3, 7, 7, 6, 8}; !slices.Equal(got, want) {
			t.Errorf("records of the upgrade %v, want %v", got, want)
		}
		d := b.wantConsumers("Reconciling", 2, 2)
		if i := slices.IndexFunc(d.Members, func(m ConsumerMemberDescription) bool { return m.Classic }); i < 0 || d.Members[i].ID != old {
			t.Fatalf("%+v", d.Members)
		}
		// The classic member is told to join again, gives up its half, and joins
		// once more to reach the epoch.
		b.wantErr(b.beat("g", 1, old), ErrRebalanceInProgress)
		r := b.mustJoin(ask("g", old, reader(0, 1, 2, 3)))
		if r.Generation != 1 || r.LeaderID != "" {
			t.Fatalf("%+v", r)
		}
		kept := b.has(b.sync("g", 1, old))
		if len(kept) != 2 {
			t.Fatalf("kept %v", kept)
		}
		b.wantErr(b.beat("g", 1, old), ErrRebalanceInProgress)
		if r = b.mustJoin(ask("g", old, reader(kept...))); r.Generation != 2 {
			t.Fatalf("%+v", r)
		}
		if got := b.has(b.sync("g", 2, old)); !slices.Equal(got, kept) {
			t.Fatalf("has %v, kept %v", got, kept)
		}
		b.wantErr(b.beat("g", 2, old), nil)
		if got := b.say(alive("m2", 2), 2); len(got) != 2 {
			t.Fatalf("the other got %v", got)
		}
		b.wantConsumers("Stable", 2, 2)
		// It is all there after a restart.
		b = b.reload()
		b.topics = newTopicSet(1, topicA())
		b.wantConsumers("Stable", 2, 2)
		// When the last of the new protocol leaves, the group is classic again.
		at = b.log.end
		b.say(alive("m2", leaveEpoch), leaveEpoch)
		if got, want := b.log.types(t, at), []int16{-8, -8, -7, -7, -6, -5, -5, -4, -3, 2}; !slices.Equal(got, want) {
			t.Errorf("records of the downgrade %v, want %v", got, want)
		}
		b.wantErr(b.beat("g", 2, old), ErrRebalanceInProgress)
		if r := b.mustJoin(ask("g", old, reader(kept...))); r.Generation != 3 || r.LeaderID != old {
			t.Errorf("%+v", r)
		}
	})
}

// TestUpgradeBeforeTheFirstGeneration joins with the new protocol while the first
// member of the classic one still waits: both are members then.
func TestUpgradeBeforeTheFirstGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.set.InitialRebalanceDelayMs = 3000
		waiting := b.joins(ask("g", "", reader()))
		synctest.Wait()
		got := b.say(hello("m2"), 1)
		old := (<-waiting).MemberID
		r := b.mustJoin(ask("g", old, reader()))
		kept := b.has(b.sync("g", r.Generation, old))
		if all := slices.Sorted(slices.Values(append(kept, got...))); !slices.Equal(all, []int32{0, 1, 2, 3}) {
			t.Fatalf("together they have %v, the new one %v", all, got)
		}
		b.wantConsumers("Stable", 1, 2)
	})
}

// TestRestartAfterDowngrade restarts after the last member of the consumer protocol
// has left and before the others have joined again: its partitions must not be
// forgotten.
func TestRestartAfterDowngrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		old := b.classicOfOne()
		b.say(hello("m2"), 2)
		r := b.mustJoin(ask("g", old, reader(0, 1, 2, 3)))
		kept := b.has(b.sync("g", r.Generation, old))
		r = b.mustJoin(ask("g", old, reader(kept...)))
		b.wantErr(b.sync("g", r.Generation, old).Err, nil)
		b.say(alive("m2", leaveEpoch), leaveEpoch)
		b = b.reload()
		b.topics = newTopicSet(1, topicA())
		b.wantErr(b.beat("g", r.Generation, old), ErrRebalanceInProgress)
		if r = b.mustJoin(ask("g", old, reader(kept...))); r.Generation != 3 || r.LeaderID != old {
			t.Fatalf("%+v", r)
		}
		b.wantErr(b.sync("g", 3, old, old, "all").Err, nil)
		b = b.reload()
		b.wantErr(b.beat("g", 3, old), nil) // once is enough
	})
}

func TestUpgradeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t, func(s *Settings) { s.Migration = MigrationPolicy{} })
		b.classicOfOne()
		b.refused(hello("m2"), ErrGroupNotFound, "online upgrade is disabled")
		b.set.Migration = MigrationPolicy{Upgrade: true}
		b.say(hello("m2"), 2)
		b.set.Migration = MigrationPolicy{}
		if r := b.mustJoinErr(ask("g", "", reader())); !errors.Is(r, ErrInconsistentProtocol) {
			t.Errorf("%v", r)
		}
	})
}

func (b *bench) mustJoinErr(r *JoinRequest) error {
	b.t.Helper()
	result, err := b.Join(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return result.Err
}

func TestClassicMemberTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.say(hello("m1"), 2)
		second()
		r := b.mustJoin(ask("g", "", reader()))
		// It joins and never syncs: out after its rebalance timeout, though it lives.
		for range 3 {
			time.Sleep(9 * time.Second)
			b.say(alive("m1", 2), 2)
			_ = b.beat("g", r.Generation, r.MemberID)
		}
		synctest.Wait()
		b.wantErr(b.beat("g", r.Generation, r.MemberID), ErrUnknownMember)
	})
}

func TestEmptyGroupsChangeKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.wantErr(b.commit("g", "", -1, "a", 3), nil)
		at := b.log.end
		b.say(hello("m1"), 2)
		if got, want := b.log.types(t, at), []int16{-2, 5, 3, 7, 6, 8}; !slices.Equal(got, want) {
			t.Errorf("records %v, want %v", got, want)
		}
		b.say(alive("m1", leaveEpoch), leaveEpoch)
		at = b.log.end
		b.mustJoin(ask("g", "", reader()))
		if got, want := b.log.types(t, at), []int16{-6, -4, -3, 2}; !slices.Equal(got, want) {
			t.Errorf("records %v, want %v", got, want)
		}
		if o, err := b.FetchAll(&FetchRequest{GroupID: "g", MemberEpoch: -1}); err != nil || len(o) != 1 {
			t.Errorf("offsets %v, %v", o, err)
		}
	})
}
