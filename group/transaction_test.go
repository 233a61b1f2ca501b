package group

import (
	"testing"

	"minibroker/record"
)

// commitIn commits an offset of topic t in a producer's transaction.
func (b *bench) commitIn(producer int64, groupID string, offset int64) error {
	_, err := b.CommitTransactional(&TransactionalCommitRequest{
		GroupID: groupID, Committer: Committer{Generation: -1}, ProducerID: producer, TransactionVersion: 2,
		Partitions: []CommitPartition{{PartitionName: PartitionName{"t", 0}, Offset: offset, LeaderEpoch: -1}},
	})
	return err
}

// end writes the marker of a producer and tells the coordinator of it.
func (b *bench) end(producer int64, commit bool) {
	b.t.Helper()
	at, err := b.log.Append(record.BuildMarker(record.MarkerOptions{ProducerID: producer, Marker: record.Marker{Commit: commit}}), AppendOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.CompleteTransaction(0, producer, at, commit)
}

// stableOffset asks for an offset that nothing is about to change.
func (b *bench) stableOffset(groupID string) (int64, error) {
	b.t.Helper()
	got, err := b.Fetch(&FetchRequest{GroupID: groupID, RequireStable: true}, []FetchPartition{{PartitionName: PartitionName{"t", 0}}})
	if err != nil {
		b.t.Fatal(err)
	}
	return got[0].Offset.Offset, got[0].Err
}

// both checks now and after a restart.
func both(b *bench, check func(b *bench)) *bench {
	b.t.Helper()
	check(b)
	b = b.reload()
	check(b)
	return b
}

func TestTransactionalOffsetIsPending(t *testing.T) {
	for name, commit := range map[string]bool{"commit": true, "abort": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.wantErr(b.commit("g", "", -1, "t", 5), nil)
			b.wantErr(b.commitIn(7, "g", 10), nil)
			b = both(b, func(b *bench) {
				if _, err := b.stableOffset("g"); err != ErrUnstableOffset {
					t.Errorf("stable: %v", err)
				}
				if got := b.committed("g", "t"); got != 5 {
					t.Errorf("offset %d while the transaction is open", got)
				}
				all, err := b.FetchAll(&FetchRequest{GroupID: "g", RequireStable: true})
				if err != nil || len(all) != 1 || all[0].Err != ErrUnstableOffset {
					t.Errorf("all: %+v, %v", all, err)
				}
			})
			want := int64(5)
			if commit {
				want = 10
			}
			b.end(7, commit)
			both(b, func(b *bench) {
				if got, err := b.stableOffset("g"); got != want || err != nil {
					t.Errorf("offset %d, %v, want %d", got, err, want)
				}
				if len(b.shards[0].producers) != 0 {
					t.Error("the producer is remembered")
				}
			})
		})
	}
}

func TestLaterCommitWinsOverTransaction(t *testing.T) {
	b := newBench(t)
	b.wantErr(b.commitIn(7, "g", 10), nil)
	b.wantErr(b.commit("g", "", -1, "t", 20), nil)
	b.end(7, true)
	both(b, func(b *bench) {
		if got, err := b.stableOffset("g"); got != 20 || err != nil {
			t.Errorf("offset %d, %v", got, err)
		}
	})
}

func TestMarkerEndsWhatCameBeforeIt(t *testing.T) {
	b := newBench(t)
	b.wantErr(b.commitIn(7, "g", 10), nil)
	b.wantErr(b.commitIn(7, "h", 11), nil)
	b.wantErr(b.commitIn(8, "g", 12), nil)
	at, err := b.log.Append(record.BuildMarker(record.MarkerOptions{ProducerID: 7, Marker: record.Marker{Commit: true}}), AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.wantErr(b.commitIn(7, "i", 99), nil) // the next transaction, before the end of the first is taken note of
	b.CompleteTransaction(0, 7, at, true)
	both(b, func(b *bench) {
		if b.committed("g", "t") != 10 || b.committed("h", "t") != 11 {
			t.Errorf("offsets %d and %d", b.committed("g", "t"), b.committed("h", "t"))
		}
		for _, g := range []string{"g", "i"} {
			if _, err := b.stableOffset(g); err != ErrUnstableOffset {
				t.Errorf("group %s: %v", g, err)
			}
		}
	})
}

func TestDeletingForgetsTransactions(t *testing.T) {
	b := newBench(t)
	b.wantErr(b.commitIn(7, "g", 10), nil)
	b.wantErr(b.commitIn(7, "h", 10), nil)
	if errs, err := b.DeleteOffsets("g", []PartitionName{{"t", 0}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	b.wantErr(b.Delete([]string{"h"})[0], nil)
	b.end(7, true)
	both(b, func(b *bench) {
		if b.committed("g", "t") != -1 || b.committed("h", "t") != -1 {
			t.Error("a deleted offset came back")
		}
	})
}

func TestTransactionalCommitThatCannotBeWritten(t *testing.T) {
	b := newBench(t)
	b.log.failWith(errDisk)
	b.wantErr(b.commitIn(7, "g", 10), ErrStorage)
	if len(b.shards[0].producers) != 0 || len(b.shards[0].groups) != 0 {
		t.Error("something is left of it")
	}
}

func TestTransactionalCommitOfMembers(t *testing.T) {
	b := newBench(t)
	id := b.mustJoin(ask("g", "")).MemberID
	commit := func(by Committer) error {
		_, err := b.CommitTransactional(&TransactionalCommitRequest{GroupID: "g", Committer: by, ProducerID: 7,
			Partitions: []CommitPartition{{PartitionName: PartitionName{"t", 0}, Offset: 1}}})
		return err
	}
	b.wantErr(commit(Committer{MemberID: "nobody", Generation: 1}), ErrUnknownMember)
	b.wantErr(commit(Committer{MemberID: id, Generation: 2}), ErrIllegalGeneration)
	b.wantErr(commit(Committer{Generation: -1}), nil)              // producers that do not know of members
	b.wantErr(commit(Committer{MemberID: id, Generation: 1}), nil) // even while the group rebalances
}
