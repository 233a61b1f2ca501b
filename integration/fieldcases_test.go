package integration

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// fieldCase is a broker on which something is played that users met on other brokers.
type fieldCase struct {
	*testing.T
	addr string
	conn *Conn
}

func newFieldCase(t *testing.T) *fieldCase {
	t.Helper()
	f := &fieldCase{T: t, addr: testBroker(t)}
	var err error
	if f.conn, err = dial(f.addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.conn.Close)
	return f
}

func (f *fieldCase) topic(name string, config map[string]string) {
	f.Helper()
	if err := f.conn.CreateTopic(name, 1, config); err != nil {
		f.Fatal(err)
	}
}

// append writes a set as soon as the topic takes it, and returns its base offset.
func (f *fieldCase) append(topic string, set []byte) int64 {
	f.Helper()
	offset := int64(-1)
	if !await(patience, func() bool {
		a, err := f.conn.Produce(topic, 0, append([]byte(nil), set...))
		if err != nil {
			f.Fatal(err)
		}
		offset = a.BaseOffset
		return a.ErrorCode == 0
	}) {
		f.Fatalf("%s takes no records", topic)
	}
	return offset
}

// lookup asks for the offset at a timestamp, in a version of ListOffsets, and returns the record's timestamp, too.
func (f *fieldCase) lookup(topic string, stamp int64, version int16) (offset, found int64, epoch int32) {
	f.Helper()
	r := kmsg.NewPtrListOffsetsRequest()
	r.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = stamp, -1
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp, err := f.conn.Request(r, version)
	if err != nil {
		f.Fatal(err)
	}
	q := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	if q.ErrorCode != 0 {
		f.Fatalf("list offsets: error %d", q.ErrorCode)
	}
	return q.Offset, q.Timestamp, q.LeaderEpoch
}

// stamped is a batch of records with these timestamps.
func stamped(t *testing.T, codec record.Codec, size int, stamps ...int64) record.Batch {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{Codec: codec})
	for _, s := range stamps {
		if err := b.Append(record.Record{Timestamp: s, Value: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// TestLookupByTime: timestamps out of order, in compressed batches and over segments; none that late; an empty topic.
func TestLookupByTime(t *testing.T) {
	f := newFieldCase(t)
	f.topic("times", map[string]string{"retention.ms": "-1", "segment.bytes": "1048576"})
	f.topic("empty", nil)
	f.append("times", stamped(t, record.Gzip, 10, 100, 300, 200, 500))
	f.append("times", stamped(t, record.None, 10, 150, 400))
	f.append("times", stamped(t, record.None, 1_048_400, 600)) // too large for the segment
	for stamp, want := range map[int64][2]int64{0: {0, 100}, 100: {0, 100}, 101: {1, 300}, 250: {1, 300}, 301: {3, 500}, 450: {3, 500},
		501: {6, 600}, 600: {6, 600}, 601: {-1, -1}} {
		if offset, found, _ := f.lookup("times", stamp, 7); offset != want[0] || found != want[1] {
			t.Errorf("at %d: offset %d with timestamp %d, want %v", stamp, offset, found, want)
		}
	}
	for version := int16(1); version <= 10; version++ {
		for _, topic := range []string{"times", "empty"} {
			if offset, found, epoch := f.lookup(topic, 1<<50, version); offset != -1 || found != -1 || epoch != -1 {
				t.Errorf("%s, none that late, version %d: offset %d, timestamp %d, epoch %d", topic, version, offset, found, epoch)
			}
		}
	}
}

// TestWrongMaximumTimestamp: a header that says less than its records is put right.
func TestWrongMaximumTimestamp(t *testing.T) {
	f := newFieldCase(t)
	now := time.Now().UnixMilli()
	f.topic("lies", nil)
	for _, codec := range []record.Codec{record.None, record.Zstd} {
		for _, claimed := range []int64{now, -1} {
			b := stamped(t, codec, 10, now, now+10)
			binary.BigEndian.PutUint64(b[35:], uint64(claimed))
			binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
			base := f.append("lies", b)
			stored := record.Batch(fetchOne(t, f.conn, "lies", base).RecordBatches)
			if stored.MaxTimestamp() != now+10 {
				t.Errorf("codec %v, header says %d: stored is %d, the records' largest is %d", codec, claimed, stored.MaxTimestamp(), now+10)
			}
			if offset, found, _ := f.lookup("lies", now+10, 7); offset != 1 || found != now+10 {
				t.Errorf("looked up: offset %d with timestamp %d", offset, found)
			}
			now += 20
			if _, code, err := f.conn.DeleteRecords("lies", 0, base+2); err != nil || code != 0 {
				t.Fatalf("delete records: %v, error %d", err, code)
			}
			f.topicAgain("lies")
		}
	}
}

// topicAgain deletes a topic and creates it anew under its name.
func (f *fieldCase) topicAgain(name string) {
	f.Helper()
	if code, err := f.conn.DeleteTopic(name); err != nil || code != 0 {
		f.Fatalf("delete %s: %v, error %d", name, err, code)
	}
	f.topic(name, nil)
}

// TestLookupInAppendTime: all records of a batch have its append time, whatever the client wrote.
func TestLookupInAppendTime(t *testing.T) {
	f := newFieldCase(t)
	f.topic("appended", map[string]string{"message.timestamp.type": "LogAppendTime"})
	now := time.Now().UnixMilli()
	f.append("appended", stamped(t, record.None, 10, now-3_600_000, now-1_800_000, now-900_000, now-1000, now))
	appended := record.Batch(fetchOne(t, f.conn, "appended", 0).RecordBatches).MaxTimestamp()
	for _, stamp := range []int64{appended, appended - 1} {
		if offset, found, _ := f.lookup("appended", stamp, 7); offset != 0 || found != appended {
			t.Errorf("at %d: offset %d with timestamp %d, appended at %d", stamp, offset, found, appended)
		}
	}
}

// TestAnswersKeepTheirOrder: what could be answered at once waits for a fetch before it; acks=0 takes no place.
func TestAnswersKeepTheirOrder(t *testing.T) {
	f := newFieldCase(t)
	f.topic("ordered", nil)
	f.append("ordered", stamped(t, record.None, 1, 1))
	end := int64(1)
	c, err := net.DialTimeout("tcp", f.addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version, fetch.MaxBytes, fetch.MinBytes, fetch.MaxWaitMillis, fetch.SessionEpoch = 12, 1<<20, 1, 500, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic = "ordered"
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.FetchOffset, fp.PartitionMaxBytes = end, 1<<20
	ft.Partitions = append(ft.Partitions, fp)
	fetch.Topics = append(fetch.Topics, ft)
	silent := produceRequest("ordered", 0, stamped(t, record.None, 1, 1))
	loud := produceRequest("ordered", 1, stamped(t, record.None, 1, 1))
	silent.Version, loud.Version = 9, 9
	format := kmsg.NewRequestFormatter()
	var all []byte
	for i, r := range []kmsg.Request{fetch, kmsg.NewPtrMetadataRequest(), silent, loud, kmsg.NewPtrApiVersionsRequest()} {
		all = append(all, format.AppendRequest(nil, r, int32(i))...)
	}
	if _, err := c.Write(all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []uint32{0, 1, 3, 4} {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			t.Fatalf("answer %d: %v", want, err)
		}
		if got := binary.BigEndian.Uint32(head[4:]); got != want {
			t.Fatalf("the answer to request %d came, expected that to %d", got, want)
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:]))-4); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTopicIsCreatedOnce: twenty clients ask for the same new topic at the same time.
func TestTopicIsCreatedOnce(t *testing.T) {
	f := newFieldCase(t)
	var mu sync.Mutex
	ids := make(map[[16]byte]bool)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c, err := dial(f.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for {
				r := kmsg.NewPtrMetadataRequest()
				r.AllowAutoTopicCreation = true
				mt := kmsg.NewMetadataRequestTopic()
				mt.Topic = kmsg.StringPtr("asked-for")
				r.Topics = append(r.Topics, mt)
				resp, err := c.Request(r, 12)
				if err != nil {
					t.Error(err)
					return
				}
				switch got := resp.(*kmsg.MetadataResponse).Topics[0]; got.ErrorCode {
				case 0:
					mu.Lock()
					ids[got.TopicID] = true
					mu.Unlock()
					return
				case 3, 5: // not there yet
				default:
					t.Errorf("error %d", got.ErrorCode)
					return
				}
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("%d topics were created", len(ids))
	}
	f.append("asked-for", stamped(t, record.None, 1, time.Now().UnixMilli()))
}

// TestSameNameAgain: a topic that is created right after its deletion knows nothing of the one before: not its records, nor
// its producers, nor committed offsets; also when the broker is started again at once.
func TestSameNameAgain(t *testing.T) {
	data, addr := t.TempDir(), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	f := &fieldCase{T: t, addr: addr}
	var err error
	if f.conn, err = dial(addr); err != nil {
		t.Fatal(err)
	}
	f.topic("again", nil)
	idempotent := func(sequence int32) []byte {
		b := record.NewBuilder(record.BuilderOptions{Producer: &record.Producer{ID: 5, BaseSequence: sequence}})
		if err := b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	for n := range int32(3) {
		f.append("again", idempotent(n))
	}
	f.commit("again", 3)
	f.topicAgain("again")
	if offset, found, _ := f.lookup("again", -1, 7); offset != 0 {
		t.Errorf("the new topic ends at %d (%d)", offset, found)
	}
	if base := f.append("again", idempotent(3)); base != 0 {
		t.Errorf("the old producer's next record has offset %d", base)
	}
	if at := f.committed("again"); at != -1 {
		t.Errorf("committed is %d", at)
	}
	if code, err := f.conn.DeleteTopic("again"); err != nil || code != 0 {
		t.Fatalf("delete: %v, error %d", err, code)
	}
	f.topic("again", nil)
	p.Kill()
	f.conn.Close()
	p = startProcess(t, data, addr, nil)
	if f.conn, err = dial(addr); err != nil {
		t.Fatal(err)
	}
	if base := f.append("again", idempotent(0)); base != 0 {
		t.Errorf("after kill -9 the first record has offset %d", base)
	}
	f.conn.Close()
	p.Stop(t)
}

// commit notes an offset of a group without members.
func (f *fieldCase) commit(topic string, offset int64) {
	f.Helper()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "readers"
	if _, err := f.conn.Request(find, 3); err != nil { // makes the topic of offsets
		f.Fatal(err)
	}
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation = "readers", -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	if !await(patience, func() bool {
		resp, err := f.conn.Request(r, 8)
		if err != nil {
			f.Fatal(err)
		}
		return resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode == 0
	}) {
		f.Fatal("no offset is taken")
	}
}

func (f *fieldCase) committed(topic string) int64 {
	f.Helper()
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Group = "readers"
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, []int32{0}
	r.Topics = append(r.Topics, t)
	resp, err := f.conn.Request(r, 5)
	if err != nil {
		f.Fatal(err)
	}
	return resp.(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset
}
