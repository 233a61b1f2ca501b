package group

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestCommitByNobody(t *testing.T) {
	b := newBench(t)
	if got := b.committed("g", "t"); got != -1 {
		t.Errorf("offset %d before the first commit", got)
	}
	instance := "i"
	_, err := b.Commit(&CommitRequest{GroupID: "g", Committer: Committer{MemberID: "made-up", InstanceID: &instance, Generation: -1}, RetentionMs: -1,
		Partitions: []CommitPartition{{PartitionName: PartitionName{"t", 0}, Offset: 5}}})
	b.wantErr(err, nil)
	if got := b.committed("g", "t"); got != 5 {
		t.Errorf("offset %d", got)
	}
	listed, err := b.List(nil, nil)
	if err != nil || !slices.Equal(listed, []Listed{{"g", "", "Empty", Classic}}) {
		t.Errorf("list %v, %v", listed, err)
	}
	b.wantErr(b.commit("", "", -1, "t", 1), nil) // a group may have an empty name here
	id := b.stable("live")
	b.wantErr(b.commit("live", "", -1, "t", 1), ErrUnknownMember)
	b.wantErr(b.commit("live", "made-up", -1, "t", 1), ErrUnknownMember)
	b.wantErr(b.commit("live", id, 2, "t", 1), ErrIllegalGeneration)
	b.wantErr(b.commit("none", "x", 3, "t", 1), ErrIllegalGeneration)
	_, err = b.Commit(&CommitRequest{GroupID: "none", Committer: Committer{MemberID: "x", Generation: 3, KnowsEpochs: true}})
	b.wantErr(err, ErrGroupNotFound)
	b.Leave("live", []Leaving{{MemberID: id}})
	b.wantErr(b.commit("live", "", -1, "t", 1), nil) // it is empty again
}

func TestCommitLeavesOutLargeMetadata(t *testing.T) {
	b := newBench(t)
	part := func(p int32, metadata string) CommitPartition {
		return CommitPartition{PartitionName: PartitionName{"t", p}, Offset: int64(p) + 10, LeaderEpoch: 2, Metadata: metadata}
	}
	errs, err := b.Commit(&CommitRequest{GroupID: "g", Committer: Committer{Generation: -1}, RetentionMs: -1, Partitions: []CommitPartition{
		part(0, "0123456789abcdef0"), part(1, "0123456789abcdef"), part(2, "ääääääääääääääää"), part(3, "𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞")}})
	if err != nil || !slices.Equal(errs, []error{ErrMetadataTooLarge, nil, nil, ErrMetadataTooLarge}) {
		t.Fatalf("%v, %v", errs, err)
	}
	all, err := b.FetchAll(&FetchRequest{GroupID: "g", MemberEpoch: -1})
	if err != nil || len(all) != 2 || all[0].Partition != 1 || all[1].Partition != 2 || all[1].Offset.Offset != 12 || all[1].LeaderEpoch != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	b = b.reload()
	again, err := b.FetchAll(&FetchRequest{GroupID: "g", MemberEpoch: -1})
	if err != nil || !slices.Equal(again, all) {
		t.Errorf("after a restart: %+v, %v, want %+v", again, err, all)
	}
}

func TestCommitThatCannotBeWritten(t *testing.T) {
	b := newBench(t)
	b.wantErr(b.commit("g", "", -1, "t", 1), nil)
	b.log.failWith(errDisk)
	b.wantErr(b.commit("g", "", -1, "t", 2), ErrStorage)
	b.wantErr(b.commit("new", "", -1, "t", 2), ErrStorage)
	if b.committed("g", "t") != 1 || b.committed("new", "t") != -1 {
		t.Error("an offset that was not written is in force")
	}
	if listed, _ := b.List(nil, nil); len(listed) != 1 {
		t.Errorf("groups %v", listed)
	}
}

func TestOffsetsOfAnotherTopicOfTheSameName(t *testing.T) {
	b := newBench(t)
	b.Commit(&CommitRequest{GroupID: "g", Committer: Committer{Generation: -1}, RetentionMs: -1,
		Partitions: []CommitPartition{{PartitionName: PartitionName{"t", 0}, TopicID: [16]byte{1}, Offset: 5}}})
	for id, want := range map[byte]int64{0: 5, 1: 5, 2: -1} {
		got, err := b.Fetch(&FetchRequest{GroupID: "g"}, []FetchPartition{{PartitionName{"t", 0}, [16]byte{id}}})
		if err != nil || got[0].Offset.Offset != want {
			t.Errorf("topic id %d: %+v, %v", id, got, err)
		}
	}
	b.wantErr(b.TopicDeleted("t", [16]byte{2}), nil)
	if b.committed("g", "t") != 5 {
		t.Error("the offset went with another topic")
	}
	b.wantErr(b.TopicDeleted("t", [16]byte{1}), nil)
	if b.committed("g", "t") != -1 || b.reload().committed("g", "t") != -1 {
		t.Error("the offset of a deleted topic is there")
	}
}

func TestDeleteOffsets(t *testing.T) {
	b := newBench(t)
	_, err := b.DeleteOffsets("", nil)
	b.wantErr(err, ErrInvalidGroupID)
	_, err = b.DeleteOffsets("g", nil)
	b.wantErr(err, ErrGroupNotFound)
	subscribed := func(r *JoinRequest) {
		r.Protocols[0].Metadata = []byte{0, 0, 0, 0, 0, 1, 0, 1, 't', 0xff, 0xff, 0xff, 0xff}
	}
	id := b.stable("g", subscribed)
	b.wantErr(b.commit("g", id, 1, "t", 1), nil)
	b.wantErr(b.commit("g", id, 1, "u", 1), nil)
	end := b.log.EndOffset()
	errs, err := b.DeleteOffsets("g", []PartitionName{{"t", 0}, {"u", 0}, {"u", 1}})
	if err != nil || !slices.Equal(errs, []error{ErrSubscribed, nil, nil}) {
		t.Errorf("%v, %v", errs, err)
	}
	if got := b.log.types(t, end); !slices.Equal(got, []int16{-1}) {
		t.Errorf("records %v", got)
	}
	b.stable("connect", func(r *JoinRequest) { r.ProtocolType = "connect" })
	_, err = b.DeleteOffsets("connect", nil)
	b.wantErr(err, ErrNonEmptyGroup)
	b.stable("opaque") // a consumer group that does not say what it reads
	errs, _ = b.DeleteOffsets("opaque", []PartitionName{{"t", 0}})
	b.wantErr(errs[0], ErrSubscribed)
	b = b.reload()
	if b.committed("g", "t") != 1 || b.committed("g", "u") != -1 {
		t.Error("after a restart the offsets are others")
	}
}

func TestDeleteGroups(t *testing.T) {
	b := newBench(t)
	b.stable("live")
	for _, g := range []string{"a", "b", "c"} {
		b.wantErr(b.commit(g, "", -1, "t", 1), nil)
	}
	end := b.log.EndOffset()
	errs := b.Delete([]string{"b", "live", "none", "a"})
	for i, want := range []error{nil, ErrNonEmptyGroup, ErrGroupNotFound, nil} {
		b.wantErr(errs[i], want)
	}
	if got := b.log.types(t, end); !slices.Equal(got, []int16{-1, -2, -1, -2}) {
		t.Errorf("records %v", got)
	}
	b.wantErr(b.Delete([]string{"a"})[0], ErrGroupNotFound)
	b.log.failWith(errDisk)
	b.wantErr(b.Delete([]string{"c"})[0], ErrStorage)
	b.log.failWith(nil)
	b = b.reload()
	if listed, _ := b.List([]string{"EMPTY"}, []string{"Classic"}); len(listed) != 1 || listed[0].ID != "c" {
		t.Errorf("groups %v", listed)
	}
}

// expireAfter lets time pass and expires.
func (b *bench) expireAfter(d time.Duration) {
	b.t.Helper()
	time.Sleep(d)
	if err := b.Expire(); err != nil {
		b.t.Fatal(err)
	}
}

func TestOffsetsOfNobodyExpireAfterTheirCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.commit("g", "", -1, "t", 1)
		b.expireAfter(30 * time.Minute)
		b.commit("g", "", -1, "u", 1)
		b.expireAfter(30 * time.Minute)
		if b.committed("g", "t") != -1 || b.committed("g", "u") != 1 {
			t.Error("not exactly the older offset has expired")
		}
		end := b.log.EndOffset()
		b.expireAfter(30 * time.Minute)
		if got := b.log.types(t, end); !slices.Equal(got, []int16{-1, -2}) {
			t.Errorf("records %v", got)
		}
		_, err := b.Describe("g")
		b.wantErr(err, ErrGroupNotFound)
	})
}

func TestOffsetsOfAGroupExpireAfterItBecameEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		id := b.stable("g", func(r *JoinRequest) { r.SessionTimeoutMs = 1800000 })
		b.commit("g", id, 1, "t", 1)
		time.Sleep(20 * time.Minute)
		b.Leave("g", []Leaving{{MemberID: id}})
		b = b.reload() // the moment is in the log
		b.expireAfter(59 * time.Minute)
		if b.committed("g", "t") != 1 {
			t.Fatal("expired too early")
		}
		b.expireAfter(time.Minute)
		if listed, _ := b.List(nil, nil); len(listed) != 0 {
			t.Errorf("groups %v", listed)
		}
	})
}

func TestOffsetsOfTopicsThatAreReadDoNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		id := b.stable("g", func(r *JoinRequest) {
			r.SessionTimeoutMs = 1800000
			r.Protocols[0].Metadata = []byte{0, 0, 0, 0, 0, 1, 0, 1, 't', 0xff, 0xff, 0xff, 0xff}
		})
		opaque := b.stable("opaque", func(r *JoinRequest) { r.SessionTimeoutMs = 1800000 })
		for _, topic := range []string{"t", "u"} {
			b.commit("g", id, 1, topic, 1)
			b.commit("opaque", opaque, 1, topic, 1)
		}
		for range 3 {
			time.Sleep(20 * time.Minute)
			b.beat("g", 1, id)
			b.beat("opaque", 1, opaque)
		}
		b.expireAfter(0)
		if b.committed("g", "t") != 1 || b.committed("g", "u") != -1 || b.committed("opaque", "u") != 1 {
			t.Error("other offsets have expired")
		}
	})
}

func TestOffsetsWithATimeOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.Commit(&CommitRequest{GroupID: "g", Committer: Committer{Generation: -1}, RetentionMs: 5000,
			Partitions: []CommitPartition{{PartitionName: PartitionName{"t", 0}, Offset: 5}}})
		b = b.reload()
		b.expireAfter(4999 * time.Millisecond)
		if b.committed("g", "t") != 5 {
			t.Fatal("expired too early")
		}
		b.expireAfter(time.Millisecond)
		if b.committed("g", "t") != -1 {
			t.Error("not expired")
		}
	})
}

func TestExpiryInMoreThanOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var all []CommitPartition
		for p := range int32(100) {
			all = append(all, CommitPartition{PartitionName: PartitionName{"t", p}, Offset: 1})
		}
		b.Commit(&CommitRequest{GroupID: "g", Committer: Committer{Generation: -1}, RetentionMs: -1, Partitions: all})
		b.log.max = 300
		b.expireAfter(time.Hour)
		b.log.max = 1 << 20
		if listed, _ := b.reload().List(nil, nil); len(listed) != 0 {
			t.Errorf("groups %v", listed)
		}
	})
}

func TestExpiryThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.commit("g", "", -1, "t", 1)
		b.log.failWith(errDisk)
		time.Sleep(time.Hour)
		if err := b.Expire(); !errors.Is(err, errDisk) {
			t.Errorf("got %v", err)
		}
		if b.committed("g", "t") != 1 {
			t.Error("the offset has gone")
		}
	})
}
