package group

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// topicA and topicB are what the tests' groups read.
func topicA() Topic { return Topic{ID: [16]byte{15: 1}, Name: "a", Partitions: 4} }
func topicB() Topic { return Topic{ID: [16]byte{15: 2}, Name: "b", Partitions: 2} }

func newConsumerBench(t *testing.T, change ...func(*Settings)) *bench {
	b := newBench(t, change...)
	b.topics = newTopicSet(1, topicA())
	return b
}

// hello is the heartbeat with which a member joins that reads a.
func hello(member string, change ...func(*ConsumerHeartbeat)) *ConsumerHeartbeat {
	r := &ConsumerHeartbeat{
		GroupID: "g", MemberID: member, ClientID: "client", ClientHost: "/127.0.0.1", RebalanceTimeoutMs: 30000,
		Topics: []string{"a"}, Owned: []TopicPartitions{}, NeedsID: true,
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// alive is the heartbeat of a member that has nothing new to say, except what it
// has of a if there is any.
func alive(member string, epoch int32, has ...int32) *ConsumerHeartbeat {
	r := &ConsumerHeartbeat{GroupID: "g", MemberID: member, Epoch: epoch, ClientID: "client", ClientHost: "/127.0.0.1", RebalanceTimeoutMs: -1, NeedsID: true}
	if len(has) > 0 {
		r.Owned = []TopicPartitions{{topicA().ID, has}}
	}
	return r
}

func instance(id string) func(*ConsumerHeartbeat) {
	return func(r *ConsumerHeartbeat) { r.InstanceID = &id }
}

// say sends a heartbeat that must succeed, and returns what is assigned of a;
// nil when the answer has no assignment.
func (b *bench) say(r *ConsumerHeartbeat, epoch int32) []int32 {
	b.t.Helper()
	got, err := b.ConsumerHeartbeat(r)
	if err != nil {
		b.t.Fatalf("heartbeat of %s: %v", r.MemberID, err)
	}
	if got.Epoch != epoch {
		b.t.Fatalf("heartbeat of %s: epoch %d, want %d", r.MemberID, got.Epoch, epoch)
	}
	if got.Assignment == nil {
		return nil
	}
	list := []int32{}
	for _, t := range *got.Assignment {
		list = append(list, t.Partitions...)
	}
	return list
}

func (b *bench) refused(r *ConsumerHeartbeat, want error, text string) {
	b.t.Helper()
	_, err := b.ConsumerHeartbeat(r)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		b.t.Errorf("%v, want %v with %q", err, want, text)
	}
}

func (b *bench) wantAssigned(got []int32, want ...int32) {
	b.t.Helper()
	if !slices.Equal(got, want) || (got == nil) != (want == nil) {
		b.t.Fatalf("assigned %v, want %v", got, want)
	}
}

func (b *bench) wantConsumers(state string, epoch int32, members int) *ConsumerDescription {
	b.t.Helper()
	d, err := b.ConsumerDescribe("g")
	if err != nil {
		b.t.Fatal(err)
	}
	if d.State != state || d.Epoch != epoch || len(d.Members) != members {
		b.t.Fatalf("%s at epoch %d with %d members, want %s, %d, %d", d.State, d.Epoch, len(d.Members), state, epoch, members)
	}
	return d
}

// second is beyond the assignment interval.
func second() { time.Sleep(1100 * time.Millisecond) }

func TestConsumerMembersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.wantAssigned(b.say(hello("m1"), 2), 0, 1, 2, 3)
		if got, want := b.log.types(t, 0), []int16{5, 3, 7, 6, 8}; !slices.Equal(got, want) {
			t.Errorf("records of the first join %v, want %v", got, want)
		}
		b.wantAssigned(b.say(alive("m1", 2, 0, 1, 2, 3), 2))
		// Within the interval there is no new target: the second gets nothing yet.
		at := b.log.end
		b.say(hello("m2"), 2)
		if got, want := b.log.types(t, at), []int16{5, 3, 8}; !slices.Equal(got, want) {
			t.Errorf("records of the second join %v, want %v", got, want)
		}
		b.wantConsumers("Assigning", 3, 2)
		second()
		b.say(alive("m2", 2), 3)
		b.wantConsumers("Reconciling", 3, 2)
		kept := b.say(alive("m1", 2, 0, 1, 2, 3), 2)
		if len(kept) != 2 {
			t.Fatalf("the first keeps %v", kept)
		}
		if b.say(alive("m2", 3), 3) != nil {
			t.Fatal("the second got partitions that the first has not given up")
		}
		b.wantAssigned(b.say(alive("m1", 2, kept...), 3))
		if got := b.say(alive("m2", 3), 3); len(got) != 2 || slices.ContainsFunc(got, func(p int32) bool { return slices.Contains(kept, p) }) {
			t.Fatalf("the second got %v, the first has %v", got, kept)
		}
		b.wantConsumers("Stable", 3, 2)

		at = b.log.end
		b.say(alive("m2", leaveEpoch), leaveEpoch)
		if got, want := b.log.types(t, at), []int16{-8, -7, -5, 3}; !slices.Equal(got, want) {
			t.Errorf("records of a leave %v, want %v", got, want)
		}
		second()
		b.wantAssigned(b.say(alive("m1", 3, kept...), 4), 0, 1, 2, 3)
		at = b.log.end
		b.say(alive("m1", leaveEpoch), leaveEpoch)
		if got, want := b.log.types(t, at), []int16{-8, -7, -5, 3, 6}; !slices.Equal(got, want) {
			t.Errorf("records of the last leave %v, want %v", got, want)
		}
		b.wantConsumers("Empty", 5, 0)
	})
}

// TestConsumerMembersAreAskedBack expects that a member comes back soon while
// something is left to do or others may be about to join, and else after the
// interval of the settings.
func TestConsumerMembersAreAskedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		interval := func(r *ConsumerHeartbeat) int32 {
			t.Helper()
			got, err := b.ConsumerHeartbeat(r)
			if err != nil {
				t.Fatal(err)
			}
			return got.HeartbeatIntervalMs
		}
		want := func(got, want int32) {
			t.Helper()
			if got != want {
				t.Fatalf("asked back in %d ms, want %d", got, want)
			}
		}
		want(interval(hello("m1")), 5000)
		want(interval(alive("m1", 2, 0, 1, 2, 3)), 50) // the group is young
		second()
		want(interval(alive("m1", 2)), 5000)
		want(interval(hello("m2")), 50)                // it waits for what the first has
		want(interval(alive("m1", 2, 0, 1, 2, 3)), 50) // it has to give up some
		want(interval(alive("m2", 3)), 50)
		time.Sleep(3 * time.Second)
		want(interval(alive("m2", 3)), 800)
		time.Sleep(20 * time.Second)
		want(interval(alive("m2", 3)), 5000)
		want(interval(alive("m1", 2, 0, 1)), 5000)
		want(interval(alive("m2", 3)), 5000)
		b.wantConsumers("Stable", 3, 2)
	})
}

// TestConsumerTargetWhenAllHaveCome expects that the members that come within the
// assignment interval share one target, which is made when no more come.
func TestConsumerTargetWhenAllHaveCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.say(hello("m1"), 2)
		for _, id := range []string{"m2", "m3", "m4"} {
			time.Sleep(90 * time.Millisecond)
			b.say(hello(id), 2)
			b.say(alive("m1", 2), 2)
		}
		b.wantConsumers("Assigning", 5, 4)
		time.Sleep(100 * time.Millisecond)
		if kept := b.say(alive("m1", 2, 0, 1, 2, 3), 2); len(kept) != 1 {
			t.Fatalf("the first keeps %v", kept)
		}
		b.wantConsumers("Reconciling", 5, 4)
		// Members that never cease to come do not hold it up.
		for i := range 12 {
			b.say(hello(string(rune('a'+i))), 5)
			time.Sleep(90 * time.Millisecond)
		}
		if d, err := b.ConsumerDescribe("g"); err != nil || d.AssignmentEpoch != 5 {
			t.Fatalf("%+v, %v", d, err)
		}
		b.say(hello("z"), 18)
	})
}

func TestConsumerRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t, func(s *Settings) { s.ConsumerMaxSize = 1 })
		b.refused(alive("m1", 1), ErrGroupNotFound, "Consumer group g not found.")
		b.refused(alive("m1", leaveEpoch), ErrGroupNotFound, "Group g not found.")
		b.refused(hello(""), ErrInvalidRequest, "MemberId can't be empty.")
		b.refused(hello("m1", func(r *ConsumerHeartbeat) { r.Owned = nil }), ErrInvalidRequest, "TopicPartitions must be empty")
		b.refused(hello("m1", func(r *ConsumerHeartbeat) { r.Topics = nil }), ErrInvalidRequest, "SubscribedTopicNames or SubscribedTopicRegex")
		b.refused(hello("m1", func(r *ConsumerHeartbeat) { s := "x"; r.Assignor = &s }), ErrUnsupportedAssignor, "uniform, range")
		b.refused(hello("m1", func(r *ConsumerHeartbeat) { s := "("; r.Regex = &s }), ErrInvalidRegex, "missing closing )")
		if listed, _ := b.List(nil, nil); len(listed) != 0 || b.log.end != 0 {
			t.Fatalf("refused joins left %v and %d records", listed, b.log.end)
		}
		b.say(hello("m1"), 2)
		b.refused(hello("m2"), ErrGroupMaxSize, "maximum capacity of 1 members")
		b.set.ConsumerMaxSize = 2
		b.refused(alive("m2", 2), ErrUnknownMember, "Member m2 is not a member of group g.")
		b.refused(alive("m1", 9), ErrFencedEpoch, "greater member epoch (9)")
		b.refused(alive("m1", 1), ErrFencedEpoch, "smaller member epoch (1)")
		b.wantErr(b.Delete([]string{"g"})[0], ErrNonEmptyGroup)
		if _, err := b.Describe("g"); !errors.Is(err, ErrGroupNotFound) {
			t.Errorf("described as a classic group: %v", err)
		}
	})
}

// TestConsumerLostAnswer expects that a member whose answer was lost may go on with the epoch that it knows, as long as it
// has nothing that it should not have; and that one that was out comes back with its id.
func TestConsumerLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.say(hello("m1"), 2)
		second()
		b.say(hello("m2"), 3)
		kept := b.say(alive("m1", 2, 0, 1, 2, 3), 2)
		b.say(alive("m1", 2, kept...), 3) // the answer is lost
		b.refused(alive("m1", 2), ErrFencedEpoch, "smaller member epoch (2)")
		b.refused(alive("m1", 2, 0, 1, 2, 3), ErrFencedEpoch, "smaller member epoch (2)")
		b.say(alive("m1", 2, kept...), 3)
		b.say(alive("m1", 2, kept[:1]...), 3)
		b.refused(alive("m1", 8), ErrFencedEpoch, "greater member epoch (8)")
		time.Sleep(46 * time.Second)
		synctest.Wait()
		b.refused(alive("m1", 3, kept...), ErrUnknownMember, "")
		b.wantAssigned(b.say(hello("m1"), 6), 0, 1, 2, 3) // both had been out
	})
}

func TestConsumerSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.say(hello("m1"), 2)
		for range 3 {
			time.Sleep(44 * time.Second)
			b.say(alive("m1", 2, 0, 1, 2, 3), 2)
		}
		time.Sleep(46 * time.Second)
		synctest.Wait()
		b.wantConsumers("Empty", 3, 0)
		b.refused(alive("m1", 2), ErrUnknownMember, "")
	})
}

func TestConsumerRebalanceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.say(hello("m1"), 2)
		second()
		b.say(hello("m2"), 3)
		for range 4 { // it lives, but does not give up what it is asked to
			b.say(alive("m1", 2, 0, 1, 2, 3), 2)
			b.say(alive("m2", 3), 3)
			time.Sleep(8 * time.Second)
		}
		synctest.Wait()
		b.refused(alive("m1", 2), ErrUnknownMember, "")
		second()
		b.wantAssigned(b.say(alive("m2", 3), 4), 0, 1, 2, 3)
	})
}

func TestConsumerStaticMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.wantAssigned(b.say(hello("s1", instance("i")), 2), 0, 1, 2, 3)
		b.refused(hello("s2", instance("i")), ErrUnreleasedInstance, "owned by s1 member")
		away := alive("s1", leaveStaticEpoch)
		instance("i")(away)
		b.say(away, leaveStaticEpoch)
		at := b.log.end
		b.wantAssigned(b.say(hello("s2", instance("i")), 2), 0, 1, 2, 3)
		if got, want := b.log.types(t, at), []int16{-8, -7, -5, 5, 7, 8, 8}; !slices.Equal(got, want) {
			t.Errorf("records of a return %v, want %v", got, want)
		}
		old := alive("s1", 2)
		instance("i")(old)
		b.refused(old, ErrFencedInstance, "fenced by member s2")
		other := alive("s2", 2)
		instance("j")(other)
		b.refused(other, ErrUnknownMember, "Instance id j is unknown.")
		b.wantConsumers("Stable", 2, 1)
		// One that does not come back in time is out.
		instance("i")(away)
		away.MemberID = "s2"
		b.say(away, leaveStaticEpoch)
		time.Sleep(46 * time.Second)
		synctest.Wait()
		b.wantConsumers("Empty", 3, 0)
	})
}

func TestConsumerRegex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		regex := "a.*"
		b.wantAssigned(b.say(hello("m1", func(r *ConsumerHeartbeat) { r.Topics, r.Regex = nil, &regex }), 1), []int32{}...)
		synctest.Wait()
		if got, want := b.log.types(t, 0), []int16{5, 8, 16, 3}; !slices.Equal(got, want) {
			t.Errorf("records %v, want %v", got, want)
		}
		b.wantAssigned(b.say(alive("m1", 1), 2), 0, 1, 2, 3)
		// A topic that is created later is found, not before ten seconds have
		// passed.
		more := topicB()
		more.Name = "a2"
		b.topics = newTopicSet(2, topicA(), more)
		b.TopicCreated(2)
		second()
		b.wantAssigned(b.say(alive("m1", 2), 2))
		time.Sleep(10 * time.Second)
		b.say(alive("m1", 2), 2)
		synctest.Wait()
		if got := b.say(alive("m1", 2, 0, 1, 2, 3), 3); len(got) != 6 {
			t.Errorf("assigned %v", got)
		}
		at := b.log.end
		b.say(alive("m1", leaveEpoch), leaveEpoch)
		if got, want := b.log.types(t, at), []int16{-8, -7, -5, -16, 3, 6}; !slices.Equal(got, want) {
			t.Errorf("records of the leave %v, want %v", got, want)
		}
	})
}

func TestConsumerFollowsTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.topics = newTopicSet(1)
		b.wantAssigned(b.say(hello("m1"), 2), []int32{}...)
		second()
		b.topics = newTopicSet(2, topicA())
		b.wantAssigned(b.say(alive("m1", 2), 3), 0, 1, 2, 3)
		second()
		grown := topicA()
		grown.Partitions = 5
		b.topics = newTopicSet(3, grown)
		b.wantAssigned(b.say(alive("m1", 3, 0, 1, 2, 3), 4), 0, 1, 2, 3, 4)
		b.topics = newTopicSet(4, grown, topicB())
		b.wantAssigned(b.say(alive("m1", 4), 4))
	})
}

func TestConsumerCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.say(hello("m1"), 2)
		commit := func(member string, epoch int32, partition int32, knows bool) error {
			errs, err := b.Commit(&CommitRequest{
				GroupID: "g", Committer: Committer{MemberID: member, Generation: epoch, KnowsEpochs: knows}, RetentionMs: -1,
				Partitions: []CommitPartition{{PartitionName: PartitionName{"a", partition}, TopicID: topicA().ID, Offset: 7, LeaderEpoch: -1}},
			})
			if err == nil && errs != nil {
				err = errs[0]
			}
			return err
		}
		b.wantErr(commit("m1", 2, 0, true), nil)
		b.wantErr(commit("m1", 1, 0, true), ErrStaleEpoch)
		b.wantErr(commit("m1", 3, 0, true), ErrStaleEpoch)
		b.wantErr(commit("m1", 2, 0, false), ErrUnsupportedVersion)
		b.wantErr(commit("", -1, 0, true), ErrUnknownMember)
		second()
		b.say(hello("m2"), 3)
		kept := b.say(alive("m1", 2, 0, 1, 2, 3), 2)
		b.say(alive("m1", 2, kept...), 3)
		// What it has had since epoch 2 it may commit with that epoch.
		b.wantErr(commit("m1", 2, kept[0], true), nil)
		b.wantErr(commit("m1", 2, 3-kept[0], true), ErrStaleEpoch)
		member := "m1"
		if _, err := b.FetchAll(&FetchRequest{GroupID: "g", MemberID: &member, MemberEpoch: 3}); err != nil {
			t.Error(err)
		}
		_, err := b.FetchAll(&FetchRequest{GroupID: "g", MemberID: &member, MemberEpoch: 2})
		b.wantErr(err, ErrStaleEpoch)
		again := b.reload()
		again.topics = b.topics
		if d := again.wantConsumers("Reconciling", 3, 2); d.AssignmentEpoch != 3 || d.Assignor != UniformAssignor {
			t.Errorf("after a restart: %+v", d)
		}
		again.say(alive("m2", 3), 3)
		again.wantConsumers("Stable", 3, 2)
	})
}

func TestConsumerNothingHappensWithoutRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newConsumerBench(t)
		b.log.failWith(errDisk)
		b.refused(hello("m1"), ErrStorage, "")
		if listed, _ := b.List(nil, nil); len(listed) != 0 {
			t.Fatalf("groups %v", listed)
		}
		b.log.failWith(nil)
		b.say(hello("m1"), 2)
		b.log.failWith(errDisk)
		b.refused(alive("m1", leaveEpoch), ErrStorage, "")
		b.wantConsumers("Stable", 2, 1)
		time.Sleep(45500 * time.Millisecond)
		b.log.failWith(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		b.wantConsumers("Empty", 3, 0)
	})
}
