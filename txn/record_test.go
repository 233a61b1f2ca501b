package txn

import (
	"encoding/hex"
	"testing"

	"minibroker/record"
)

// TestRecordsOfKafka holds records against those that Apache Kafka 4.4.0 wrote.
func TestRecordsOfKafka(t *testing.T) {
	base := metadata{producerID: 1000, previousID: 1000, nextID: none, timeoutMs: 30_000, startMs: none, updateMs: 0x1a22aa2527b}
	ongoing := base
	ongoing.state, ongoing.clientVersion = Ongoing, Version2
	ongoing.partitions = ongoing.partitions.with([]Partition{{"t2", 1}, {"t2", 0}})
	ongoing.updateMs, ongoing.startMs = 0x1a22aa253ad, 0x1a22aa253ad
	complete := ongoing
	complete.state, complete.epoch, complete.partitions, complete.updateMs = CompleteCommit, 1, partitionSet{}, 0x1a22aa253e4
	for _, c := range []struct {
		m    metadata
		want string
	}{
		{base, "000100000000000003e80000000075300000000001a22aa2527bffffffffffffffff01000800000000000003e8"},
		{ongoing, "000100000000000003e8000000007530010203743203000000010000000000000001a22aa253ad000001a22aa253ad02000800000000000003e802020002"},
		{complete, "000100000000000003e80001000075300401000001a22aa253e4000001a22aa253ad02000800000000000003e802020002"},
	} {
		if got := hex.EncodeToString(appendValue(nil, &c.m, 1)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.m.state, got, c.want)
		}
		raw, err := hex.DecodeString(c.want)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseValue(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(appendValue(nil, &back, 1)); got != c.want {
			t.Errorf("%s read and written: %s", c.m.state, got)
		}
	}
	if got := hex.EncodeToString(appendKey(nil, "tx1")); got != "00000003747831" {
		t.Errorf("key %s", got)
	}
}

func TestPartitionFor(t *testing.T) {
	for _, c := range []struct {
		id   string
		n    int32
		want int32
	}{
		{"tx1", 3, 0}, {"tx-open", 3, 0}, {"gclassic", 4, 1}, {"gconsumer", 4, 3}, {"gtx", 4, 3},
		{"polygenelubricants", 50, 0}, // hash -2^31
		{"\U0001F600", 50, (0xd83d*31 + 0xde00) % 50},
	} {
		if got := PartitionFor(c.id, c.n); got != c.want {
			t.Errorf("%q of %d: %d, want %d", c.id, c.n, got, c.want)
		}
	}
}

// FuzzLoad loads a log of one record of any bytes: it is taken or left out, and
// what is taken can be written again.
func FuzzLoad(f *testing.F) {
	m := metadata{producerID: 5, previousID: 5, nextID: 7, epoch: 3, state: PrepareAbort, clientVersion: Version2}
	m.partitions = m.partitions.with([]Partition{{"t", 0}, {"u", 3}})
	for _, version := range []int16{0, 1} {
		f.Add(appendKey(nil, "x"), appendValue(nil, &m, version))
	}
	f.Add(appendKey(nil, "x"), []byte(nil))
	f.Add([]byte{0, 1, 2}, []byte{0})
	f.Add([]byte{}, []byte{0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		log := newMemory()
		b := record.NewBuilder(record.BuilderOptions{})
		if err := b.Append(record.Record{Key: key, Value: value}); err != nil {
			t.Fatal(err)
		}
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		log.batches[0] = []record.Batch{batch}
		c := log.open(t)
		all, err := c.List()
		if err != nil || len(all) > 1 {
			t.Fatalf("%d ids, %v", len(all), err)
		}
		for _, d := range all {
			if d.State.prepared() {
				t.Errorf("%s is still %s", d.ID, d.State)
			}
		}
	})
}
