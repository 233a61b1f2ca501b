package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// casesOnKafkaEnv has the cases run on Apache Kafka 4.4.0 instead, which is how their answers were measured.
const casesOnKafkaEnv = "MINIBROKER_CASES_ON_KAFKA"

// caseSettings have transactions time out soon, which brokers look for every second.
var caseSettings = []string{"transaction.abort.timed.out.transaction.cleanup.interval.ms=500", "transaction.state.log.num.partitions=2",
	"offsets.topic.num.partitions=2"}

// TestTransactionCases plays what users met on other brokers: producers that die or come twice, offsets inside transactions,
// batches outside of them, ends that come again.
func TestTransactionCases(t *testing.T) {
	data, addr := t.TempDir(), freeAddr(t)
	p := startProcess(t, data, addr, caseSettings)
	kafka := os.Getenv(casesOnKafkaEnv) != ""
	if kafka {
		p.Stop(t)
		p = startKafka(t, []string{data}, addr, caseSettings...)
	}
	for _, c := range []struct {
		name string
		play func(t *testing.T, addr string, bumps bool)
	}{
		{"dead producer", deadProducer}, {"inherited transaction", inheritedTransaction}, {"fenced producer", fencedProducer},
		{"ended twice", endedTwice}, {"overtaking batch", overtakingBatch}, {"stray batch", strayBatch},
	} {
		for version, bumps := range map[string]bool{" 1": false, " 2": true} {
			t.Run(c.name+version, func(t *testing.T) {
				t.Parallel()
				c.play(t, addr, bumps)
			})
		}
	}
	t.Run("bad inits", func(t *testing.T) { badInits(t, addr) })
	t.Cleanup(func() {
		if kafka {
			p.end(t)
		} else {
			p.Stop(t)
		}
	})
}

// caseTopic makes a topic of one partition with the name of the test.
func caseTopic(t *testing.T, addr string) place {
	t.Helper()
	name := strings.NewReplacer("/", ".", " ", "-").Replace(t.Name())
	createTopic(t, addr, name, 1, nil)
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Kafka answers the creation before it leads the partition.
	if !await(patience, func() bool { _, err = conn.ListOffset(name, 0, -1); return err == nil }) {
		t.Fatal(err)
	}
	return place{name, 0}
}

// wants compares the answer to a step.
func wants(t *testing.T, what string, got int16, want ...int16) {
	t.Helper()
	if !slices.Contains(want, got) {
		t.Errorf("%s: %s, want %s", what, coded(got), coded(want[0]))
	}
}

// deadProducer begins transactions and dies: one with records, one with a partition and no record, one with offsets alone.
// After the time-out they are aborted, readers go on, and the old epoch is refused.
func deadProducer(t *testing.T, addr string, bumps bool) {
	p := caseTopic(t, addr)
	var dead []*transactor
	for _, kind := range []string{"records", "partition", "offsets"} {
		x := newTransactor(t, addr, p.topic+kind, bumps)
		x.timeoutMs = 1000
		x.begin()
		switch kind {
		case "records":
			x.write(p, "lost 1", "lost 2", "lost 3")
		case "partition":
			x.must("add", func() int16 { return x.add(p) })
		case "offsets":
			x.commitOffset(x.id, p, 5)
		}
		dead = append(dead, x)
	}
	goClient{}.produce(t, addr, p.topic, []string{"kept"})
	for _, x := range dead {
		x.awaitState("CompleteAbort")
	}
	awaitCommitted(t, addr, p, "kept")
	// Under version 2 it looks like the repeat of an end, of one that went the other way.
	wants(t, "end", dead[0].tryEnd(true), map[bool]int16{false: 90, true: 48}[bumps])
	wants(t, "produce", dead[0].send(p, "late"), 47)
}

// inheritedTransaction leaves a transaction open; the next instance with the id gets it aborted, not committed with its own.
func inheritedTransaction(t *testing.T, addr string, bumps bool) {
	p := caseTopic(t, addr)
	a, b := newTransactor(t, addr, p.topic, bumps), newTransactor(t, addr, p.topic, bumps)
	a.begin()
	a.write(p, "a1", "a2", "a3")
	wants(t, "first init of the second instance", b.init(), 51)
	b.begin()
	b.write(p, "b1", "b2")
	b.end(true)
	awaitCommitted(t, addr, p, "b1", "b2")
	if ends := allStable(t, addr, p.topic, 1); ends[0] != 7 {
		t.Errorf("the log ends at %d, want 3 records, a marker, 2 records and a marker", ends[0])
	}
}

// fencedProducer goes on with the epoch of an instance that was replaced.
func fencedProducer(t *testing.T, addr string, bumps bool) {
	p := caseTopic(t, addr)
	a, b := newTransactor(t, addr, p.topic, bumps), newTransactor(t, addr, p.topic, bumps)
	a.begin()
	a.write(p, "a")
	a.end(true)
	b.begin()
	b.write(p, "b")
	for version, want := range map[int16]int16{1: 47, 2: 90, 3: 90} {
		wants(t, "add partitions", a.addAs(p, version), want)
	}
	for version, want := range map[int16]int16{1: 47, 2: 90, 4: 90} {
		q := kmsg.NewPtrEndTxnRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = a.id, a.producer.ID, a.producer.Epoch, true
		wants(t, "end", answer[*kmsg.EndTxnResponse](a, q, version).ErrorCode, want)
	}
	wants(t, "produce", a.send(p, "late"), 47)
	b.end(true)
	for version, want := range map[int16]int16{3: 47, 4: 90} {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.TransactionalID, q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = &a.id, 60_000, a.producer.ID, a.producer.Epoch
		wants(t, "init", answer[*kmsg.InitProducerIDResponse](a, q, version).ErrorCode, want)
	}
	awaitCommitted(t, addr, p, "a", "b")
}

// endedTwice repeats ends, and ends what was never begun.
func endedTwice(t *testing.T, addr string, bumps bool) {
	p := caseTopic(t, addr)
	x := newTransactor(t, addr, p.topic, bumps)
	x.begin()
	wants(t, "commit of nothing", x.tryEnd(true), 48)
	x.write(p, "once")
	before := x.producer
	wants(t, "commit", x.tryEnd(true), 0)
	x.awaitState("CompleteCommit")
	after := x.producer
	for range 2 {
		x.producer = before
		wants(t, "the same commit again", x.tryEnd(true), 0)
		if x.producer != after {
			t.Errorf("goes on with %v after the repeat, with %v after the commit", x.producer, after)
		}
	}
	x.producer = before
	wants(t, "abort after the commit", x.tryEnd(false), 48)
	awaitCommitted(t, addr, p, "once")
	if ends := allStable(t, addr, p.topic, 1); ends[0] != 2 {
		t.Errorf("the log ends at %d: a second marker", ends[0])
	}
}

// overtakingBatch has a batch refused; one behind it must not take its place.
func overtakingBatch(t *testing.T, addr string, bumps bool) {
	p := caseTopic(t, addr)
	x := newTransactor(t, addr, p.topic, bumps)
	x.begin()
	if bumps { // which adds the partition with the batch; an unknown producer begins at 0
		x.sequences[p] = 1
		wants(t, "second batch first", x.send(p, "b"), 45)
		x.sequences[p] = 0
	} else {
		x.sequences[p] = 1
		wants(t, "batch before its partition is added", x.send(p, "b"), 48)
		x.must("add", func() int16 { return x.add(p) })
		x.sequences[p] = 2
		wants(t, "a batch behind it", x.send(p, "c"), 45)
		x.sequences[p] = 1
	}
	wants(t, "the batch again", x.send(p, "b"), 0)
	wants(t, "the batch behind it again", x.send(p, "c"), 0)
	x.end(true)
	awaitCommitted(t, addr, p, "b", "c")
}

// strayBatch comes after the end of its transaction, with its epoch and the next sequence.
func strayBatch(t *testing.T, addr string, bumps bool) {
	p := caseTopic(t, addr)
	x := newTransactor(t, addr, p.topic, bumps)
	x.begin()
	x.write(p, "in time")
	old, next := x.producer, x.sequences[p]
	x.end(true)
	x.producer, x.sequences[p] = old, next
	wants(t, "stray batch", x.send(p, "late"), map[bool]int16{false: 48, true: 47}[bumps])
	awaitCommitted(t, addr, p, "in time")
	if ends := allStable(t, addr, p.topic, 1); ends[0] != 2 {
		t.Errorf("the log ends at %d: the batch is there", ends[0])
	}
}

// badInits asks for producer ids with time-outs and ids that are refused.
func badInits(t *testing.T, addr string) {
	x := newTransactor(t, addr, "bad-inits", true)
	x.coordinator(1, x.id)
	for _, c := range []struct {
		id      string
		timeout int32
		want    int16
	}{{"x", 16 * 60_000, 50}, {"x", 0, 50}, {"x", -1, 50}, {"", 60_000, 42}} {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.TransactionalID, q.TransactionTimeoutMillis = &c.id, c.timeout
		wants(t, "init", answer[*kmsg.InitProducerIDResponse](x, q, 4).ErrorCode, c.want)
	}
}

// awaitCommitted waits until no transaction is open in a partition and compares the committed values.
func awaitCommitted(t *testing.T, addr string, p place, want ...string) {
	t.Helper()
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	at := func(isolation int8) int64 {
		q := kmsg.NewPtrListOffsetsRequest()
		q.ReplicaID, q.IsolationLevel = -1, isolation
		qt := kmsg.NewListOffsetsRequestTopic()
		qt.Topic = p.topic
		qp := kmsg.NewListOffsetsRequestTopicPartition()
		qp.Partition, qp.Timestamp = p.partition, -1
		qt.Partitions = append(qt.Partitions, qp)
		q.Topics = append(q.Topics, qt)
		resp, err := conn.Request(q, 7)
		if err != nil {
			t.Fatal(err)
		}
		return resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset
	}
	if !await(patience, func() bool { return at(0) == at(1) }) {
		t.Fatalf("last stable offset %d, end offset %d", at(1), at(0))
	}
	if got, _ := allCommitted(t, addr, p.topic, 1); !slices.Equal(got, want) {
		t.Errorf("committed %q, want %q", got, want)
	}
}
