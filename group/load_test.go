package group

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/record"
)

func TestLoadsWhatKafkaWrote(t *testing.T) {
	b := loadFile(t, "classic.log")
	if listed, err := b.List(nil, nil); err != nil || !slices.Equal(listed, []Listed{{"gclassic", "consumer", "Empty", Classic}}) {
		t.Fatalf("groups %v, %v", listed, err)
	}
	topic := [16]byte{0x83, 0x75, 0xed, 0xaa, 0x45, 0xdc, 0x40, 0xd5, 0xaa, 0xbe, 0x3e, 0x0c, 0xb9, 0x78, 0x65, 0x04}
	want := []Fetched{
		{PartitionName{"t2", 0}, Offset{Offset: 1, Metadata: "some meta", TopicID: topic, CommitMs: 1796011575823, ExpireMs: -1, recordOffset: 5}, nil},
		{PartitionName{"t2", 1}, Offset{Offset: 2, TopicID: topic, CommitMs: 1796011575515, ExpireMs: -1, recordOffset: 3}, nil},
		{PartitionName{"t2", 2}, Offset{Offset: 1, TopicID: topic, CommitMs: 1796011575515, ExpireMs: -1, recordOffset: 2}, nil},
	}
	if got, err := b.FetchAll(&FetchRequest{GroupID: "gclassic"}); err != nil || !slices.Equal(got, want) {
		t.Errorf("offsets %+v, %v", got, err)
	}
}

func TestLoadsMembersOfKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := loadUpTo(t, "classic.log", 7)
		d, err := b.Describe("gclassic")
		if err != nil || d.State != "Stable" || d.Protocol != "range" || len(d.Members) != 2 {
			t.Fatalf("%+v, %v", d, err)
		}
		var dynamic, instance string
		for _, m := range d.Members {
			if m.InstanceID == nil {
				dynamic = m.ID
			} else {
				instance = *m.InstanceID
			}
		}
		b.wantErr(b.beat("gclassic", 2, dynamic), nil)
		b.wantErr(b.beat("gclassic", 3, dynamic), ErrIllegalGeneration)
		if errs, _ := b.DeleteOffsets("gclassic", []PartitionName{{"t2", 0}}); errs[0] != ErrSubscribed {
			t.Errorf("the subscription was not read: %v", errs)
		}
		if s := b.sync("gclassic", 2, dynamic); s.Err != nil || len(s.Assignment) == 0 {
			t.Errorf("sync: %+v", s)
		}
		if r := b.mustJoin(ask("gclassic", "", static(instance), func(r *JoinRequest) {
			r.Protocols = []Protocol{{"range", []byte("m")}}
		})); r.Generation != 2 {
			t.Errorf("the static member's return started a rebalance: %+v", r)
		}
		time.Sleep(10 * time.Minute)
		b.wantState("gclassic", "Empty")
	})
}

func TestLoadsTombstonesOfKafka(t *testing.T) {
	b := loadFile(t, "classic-expired.log")
	if listed, _ := b.List(nil, nil); len(listed) != 0 {
		t.Errorf("groups %v", listed)
	}
}

func TestLoadsTransactionsOfKafka(t *testing.T) {
	b := loadFile(t, "transactions.log")
	got, err := b.FetchAll(&FetchRequest{GroupID: "gtx", MemberEpoch: -1, RequireStable: true})
	if err != nil || len(got) == 0 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, f := range got {
		if f.Err != nil {
			t.Errorf("%s-%d: %v", f.Topic, f.Partition, f.Err)
		}
	}
}

// loadUpTo loads what Kafka wrote before an offset.
func loadUpTo(t testing.TB, name string, end int64) *bench {
	t.Helper()
	whole := loadFile(t, name)
	defer whole.Close()
	log := newMemLog()
	for rest := whole.log.bytes; len(rest) > 0; {
		batch, tail, err := record.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		if batch.BaseOffset() < end {
			log.bytes = append(log.bytes, batch...)
			log.end = batch.NextOffset()
		}
		rest = tail
	}
	return benchOver(t, log)
}

// TestEncodesAsKafka decodes and encodes every record that Kafka wrote.
func TestEncodesAsKafka(t *testing.T) {
	seen := map[int16]int{}
	for _, name := range []string{"classic.log", "classic-expired.log", "many-kinds.log", "transactions.log"} {
		b := loadFile(t, name)
		for _, r := range b.log.records(t, 0) {
			kind, _ := recordType(r.Key)
			if kind > typeGroupMetadata {
				continue
			}
			seen[kind]++
			again, err := encodeAgain(kind, r)
			if err != nil {
				t.Fatalf("%s, offset %d: %v", name, r.Offset, err)
			}
			if !bytes.Equal(again.Key, r.Key) || !bytes.Equal(again.Value, r.Value) || (again.Value == nil) != (r.Value == nil) {
				t.Errorf("%s, offset %d: wrote\n% x\n% x\nKafka\n% x\n% x", name, r.Offset, again.Key, again.Value, r.Key, r.Value)
			}
		}
	}
	if seen[typeOffsetCommit] < 20 || seen[typeGroupMetadata] < 8 {
		t.Errorf("records seen by type: %v", seen)
	}
}

func encodeAgain(kind int16, r record.Record) (record.Record, error) {
	if kind == typeOffsetCommit {
		id, p, err := decodeOffsetKey(r.Key)
		if err != nil || r.Value == nil {
			return offsetTombstone(id, p), err
		}
		o, err := decodeOffset(r.Value)
		return offsetRecord(id, p, &o), err
	}
	id, err := decodeClassicKey(r.Key)
	if err != nil || r.Value == nil {
		return tombstone(classicKey(id)), err
	}
	v, err := decodeClassic(r.Value)
	if err != nil {
		return record.Record{}, err
	}
	g := newGroup(&shard{}, id)
	c := restoreClassic(g, v)
	return c.recordLocked(c.assignmentsLocked()), nil
}

func TestRestartKeepsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		leader, follower := b.two("g")
		b.wantErr(b.commit("g", leader, 2, "t", 5), nil)
		time.Sleep(9 * time.Second)
		b = b.reload()
		time.Sleep(9 * time.Second) // each has a fresh session
		b.wantErr(b.beat("g", 2, leader), nil)
		b.wantErr(b.beat("g", 2, follower), nil)
		if s := b.sync("g", 2, follower); string(s.Assignment) != "two" {
			t.Errorf("assignment %q, %v", s.Assignment, s.Err)
		}
		if b.committed("g", "t") != 5 {
			t.Error("the offset is lost")
		}
		b = b.reload(func(s *Settings) { s.MaxSize = 1 })
		b.wantState("g", "PreparingRebalance")
	})
}

func TestRefusesWhileClosedOrBroken(t *testing.T) {
	b := newBench(t)
	b.stable("g")
	b.Resign(0)
	b.wantErr(b.commit("g", "", -1, "t", 1), ErrNotCoordinator)
	broken := newMemLog()
	broken.Append(oneBatch(t, record.Record{Key: []byte{0, 1, 0, 9}, Value: []byte{0, 4}}), AppendOptions{})
	b.Lead(0, broken)
	b.wantErr(b.commit("g", "", -1, "t", 1), ErrNotCoordinator)
	if listed, err := b.List(nil, nil); err != nil || len(listed) != 0 {
		t.Errorf("list %v, %v", listed, err)
	}
	b.SetPartitionCount(0)
	b.wantErr(b.commit("g", "", -1, "t", 1), ErrNotCoordinator)
	b.Close()
	b.wantErr(b.commit("g", "", -1, "t", 1), ErrNotAvailable)
	_, err := b.List(nil, nil)
	b.wantErr(err, ErrNotAvailable)
	b.Lead(0, newMemLog())
	b.wantErr(b.commit("g", "", -1, "t", 1), ErrNotAvailable)
}

func oneBatch(t testing.TB, r record.Record) record.Batch {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{})
	if err := b.Append(r); err != nil {
		t.Fatal(err)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func TestResignEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stable("g")
		joining := b.joins(ask("g", ""))
		synctest.Wait()
		b.Resign(0)
		b.wantErr((<-joining).Err, ErrNotCoordinator)
	})
}

// slowLog is a long log that is read when told.
type slowLog struct {
	*memLog
	read chan struct{}
}

func (l slowLog) EndOffset() int64 { return max(l.memLog.EndOffset(), inlineRecords+1) }

func (l slowLog) Read(offset int64, buf []byte) ([]byte, error) {
	<-l.read
	return l.memLog.Read(offset, buf)
}

func TestLongLogsAreLoadedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		id := b.stable("g")
		b.Resign(0)
		log := slowLog{b.log, make(chan struct{})}
		b.Lead(0, log)
		b.wantErr(b.commit("g", "", -1, "t", 1), ErrLoading)
		b.wantErr(b.join(ask("g", id)).Err, ErrLoading)
		b.wantErr(b.beat("g", 1, id), nil) // the member will be there
		_, err := b.List(nil, nil)
		b.wantErr(err, ErrLoading)
		close(log.read)
		synctest.Wait()
		b.wantErr(b.commit("g", id, 1, "t", 1), nil)
	})
}

func FuzzReplay(f *testing.F) {
	for _, name := range []string{"classic.log", "many-kinds.log", "transactions.log", "mixed.log"} {
		b, err := os.ReadFile("testdata/kafka/" + name)
		if err != nil {
			f.Fatal(err)
		}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				f.Fatal(err)
			}
			b = rest
			if batch.IsControl() {
				continue
			}
			_ = batch.ForEach(1<<20, func(r *record.Record) error {
				f.Add(r.Key, r.Value, int64(-1))
				f.Add(r.Key, r.Value, int64(7))
				return nil
			})
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte, producer int64) {
		c := New(Options{Settings: testSettings, ConsumerSettings: testConsumerSettings, Topics: func() Topics { return topicSet{} }})
		defer c.Close()
		c.SetPartitionCount(1)
		s := newShard(c, 0, newMemLog())
		c.shards[0] = s
		r := replay{s: s, unknown: map[int16]bool{}}
		err := r.record(&record.Record{Key: key, Value: value}, producer)
		if err != nil && !errors.Is(err, ErrCorruptRecord) {
			t.Fatal(err)
		}
		s.state.Store(shardReady)
		// Whatever was loaded can be shown, written and expired.
		listed, err := c.List(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range listed {
			if _, err := c.Describe(l.ID); err != nil && !errors.Is(err, ErrGroupNotFound) {
				t.Fatal(err)
			}
			if _, err := c.ConsumerDescribe(l.ID); err != nil && !errors.Is(err, ErrGroupNotFound) && !errors.Is(err, ErrInvalidGroupID) {
				t.Fatal(err)
			}
			if _, err := c.FetchAll(&FetchRequest{GroupID: l.ID, MemberEpoch: -1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Expire(); err != nil {
			t.Fatal(err)
		}
	})
}
