package integration

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// TestProduceCases plays what users met on other brokers when they produced: requests without an answer, batches of many
// malformed kinds beside a good one, timestamps out of bounds.
func TestProduceCases(t *testing.T) {
	data, addr := t.TempDir(), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	kafka := os.Getenv(casesOnKafkaEnv) != ""
	if kafka {
		p.Stop(t)
		p = startKafka(t, []string{data}, addr)
	}
	t.Run("no answer", func(t *testing.T) { unanswered(t, addr) })
	t.Run("malformed batches", func(t *testing.T) { malformedBatches(t, addr) })
	t.Run("timestamps", func(t *testing.T) { timestampBounds(t, addr) })
	if kafka {
		p.end(t)
		return
	}
	p.Kill() // what was refused must not keep the log from being loaded
	p = startProcess(t, data, addr, nil)
	p.Stop(t)
}

// plainBatch is a batch of values with one timestamp.
func plainBatch(t *testing.T, stamp int64, values ...string) record.Batch {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{})
	for _, v := range values {
		if err := b.Append(record.Record{Timestamp: stamp, Value: []byte(v)}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// produceRequest has record sets for partitions 0, 1 ... of a topic.
func produceRequest(topic string, acks int16, sets ...[]byte) *kmsg.ProduceRequest {
	q := kmsg.NewPtrProduceRequest()
	q.Acks, q.TimeoutMillis = acks, 30_000
	qt := kmsg.NewProduceRequestTopic()
	qt.Topic = topic
	for i, set := range sets {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), set
		qt.Partitions = append(qt.Partitions, p)
	}
	q.Topics = append(q.Topics, qt)
	return q
}

// codesOf are the error codes by partition.
func codesOf(t *testing.T, c *Conn, q *kmsg.ProduceRequest) []int16 {
	t.Helper()
	resp, err := c.Request(q, 9)
	if err != nil {
		t.Fatal(err)
	}
	var codes []int16
	for _, topic := range resp.(*kmsg.ProduceResponse).Topics {
		codes = append(codes, make([]int16, len(topic.Partitions))...)
		for _, p := range topic.Partitions { // in any order
			codes[p.Partition] = p.ErrorCode
		}
	}
	return codes
}

// unanswered produces without acknowledgement: no byte comes back, and after a failure the connection ends.
func unanswered(t *testing.T, addr string) {
	p := caseTopic(t, addr)
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	send := func(topic string) {
		q := produceRequest(topic, 0, plainBatch(t, time.Now().UnixMilli(), "x"))
		q.SetVersion(9)
		conn.corr++
		if _, err := conn.c.Write(conn.f.AppendRequest(nil, q, conn.corr)); err != nil {
			t.Fatal(err)
		}
	}
	send(p.topic)
	send(p.topic)
	if end, err := conn.ListOffset(p.topic, 0, -1); err != nil || end != 2 { // the next answer is this one's
		t.Errorf("end offset %d, %v", end, err)
	}
	if codes := codesOf(t, conn, &kmsg.ProduceRequest{Acks: 1, TimeoutMillis: 1000}); len(codes) != 0 {
		t.Errorf("without a topic: %v", codes)
	}
	if codes := codesOf(t, conn, produceRequest(p.topic, 2, plainBatch(t, time.Now().UnixMilli(), "x"))); !slices.Equal(codes, []int16{21}) {
		t.Errorf("acks 2: %v", codes)
	}
	send("not there")
	conn.c.SetReadDeadline(time.Now().Add(patience))
	if n, err := conn.c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after a failure without acknowledgement: %d bytes, %v; want the end of the connection", n, err)
	}
}

// malformedBatches sends one bad batch and one good one at a time.
func malformedBatches(t *testing.T, addr string) {
	now := time.Now().UnixMilli()
	good := func() []byte { return plainBatch(t, now, "a", "b") }
	patched := func(change func(b []byte), sum bool) []byte {
		b := good()
		change(b)
		if sum {
			binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
		}
		return b
	}
	length := func(by int32) func(b []byte) {
		return func(b []byte) { binary.BigEndian.PutUint32(b[8:], uint32(int32(binary.BigEndian.Uint32(b[8:]))+by)) }
	}
	topic := caseTopic(t, addr).topic + "-2"
	createTopic(t, addr, topic, 2, nil)
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !await(patience, func() bool { _, err := conn.ListOffset(topic, 1, -1); return err == nil }) {
		t.Fatal("the topic is not led")
	}
	written := int64(0)
	for _, c := range []struct {
		name string
		set  []byte
		want []int16 // of the bad partition and the good one
	}{
		{"two batches", append(good(), good()...), []int16{87, 0}},
		{"no batch", []byte{}, []int16{87, 0}},
		{"magic 1", patched(func(b []byte) { b[16] = 1 }, false), []int16{87, 0}},
		{"magic 3", patched(func(b []byte) { b[16] = 3 }, false), []int16{2, 2}},
		{"base offset 7", patched(func(b []byte) { b[7] = 7 }, false), []int16{87, 0}},
		{"count", patched(func(b []byte) { b[60] = 3 }, true), []int16{87, 0}},
		{"last offset delta", patched(func(b []byte) { b[26] = 2 }, true), []int16{87, 0}},
		{"control bit", patched(func(b []byte) { b[22] |= 1 << 5 }, true), []int16{87, 0}},
		{"producer without sequence", patched(func(b []byte) { binary.BigEndian.PutUint64(b[43:], 9); binary.BigEndian.PutUint16(b[51:], 0) }, true), []int16{87, 0}},
		{"checksum", patched(func(b []byte) { b[20] ^= 1 }, false), []int16{2, 0}},
		{"length 5", patched(func(b []byte) { binary.BigEndian.PutUint32(b[8:], 5) }, false), []int16{2, 2}},
		{"length too short", patched(length(-1), false), []int16{2, 0}},
		{"length too long", patched(length(1), false), []int16{87, 0}},
		{"record past the end", patched(func(b []byte) { b[61] = 60 }, true), []int16{87, 0}},
	} {
		got := codesOf(t, conn, produceRequest(topic, -1, c.set, good()))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if len(got) == 2 && got[1] == 0 {
			written += 2
		}
	}
	for partition, want := range []int64{0, written} {
		if end, err := conn.ListOffset(topic, int32(partition), -1); err != nil || end != want {
			t.Errorf("partition %d ends at %d, %v; want %d", partition, end, err, want)
		}
	}
}

// timestampBounds produces stamps around the bounds of a topic.
func timestampBounds(t *testing.T, addr string) {
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	topic := caseTopic(t, addr).topic
	now := time.Now().UnixMilli()
	for kind, stamped := range map[string]bool{"CreateTime": false, "LogAppendTime": true} {
		name := topic + kind
		createTopic(t, addr, name, 1, map[string]string{"message.timestamp.type": kind, "message.timestamp.before.max.ms": "60000", "message.timestamp.after.max.ms": "60000"})
		if !await(patience, func() bool { _, err := conn.ListOffset(name, 0, -1); return err == nil }) {
			t.Fatal("the topic is not led")
		}
		for stamp, want := range map[int64]int16{now: 0, -1: 0, now - 90_000: 32, now + 600_000: 32} {
			if stamped {
				want = 0
			}
			if got := codesOf(t, conn, produceRequest(name, -1, plainBatch(t, stamp, "x"))); !slices.Equal(got, []int16{want}) {
				t.Errorf("%s, stamp %+d: %v, want %d", kind, stamp-now, got, want)
			}
		}
	}
}
