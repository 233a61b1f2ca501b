package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	tortureRoundsEnv  = "MINIBROKER_TORTURE_ROUNDS" // default 20
	tortureSeedEnv    = "MINIBROKER_TORTURE_SEED"   // default random, always printed
	torturePartitions = 4
	tortureTopic      = "torture"
	cleanEvery        = 7 // every so many rounds the broker is stopped cleanly instead
)

// torture is one broker that is killed again and again under the load of an idempotent producer and a consumer, which
// live as long as the test does.
type torture struct {
	t    *testing.T
	data string
	addr string
	rand *rand.Rand

	mu       sync.Mutex
	sent     [torturePartitions]int64 // records given to the producer
	acked    [torturePartitions]int64 // of them, each at the offset that is its number
	consumed [torturePartitions]int64 // records seen by the consumer, which come at offsets 0, 1, 2 ...
	ackCount int64
	wrong    []string
	topics   map[string]bool // acknowledged creations (true) and deletions (false)
}

// TestTorture kills a broker with SIGKILL at random moments. Nothing acknowledged may be lost, nothing may be there
// twice, offsets follow one another, topics that were created or deleted stay so, and the directory is sound at the end.
func TestTorture(t *testing.T) {
	rounds := envInt(t, tortureRoundsEnv, 20)
	seed := envInt(t, tortureSeedEnv, int(time.Now().UnixNano()&0x7fffffff))
	t.Logf("%d rounds, %s=%d", rounds, tortureSeedEnv, seed)
	x := &torture{t: t, data: filepath.Join(t.TempDir(), "data"), addr: freeAddr(t),
		rand: rand.New(rand.NewPCG(uint64(seed), 1)), topics: map[string]bool{}}
	x.run(rounds)
}

func envInt(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func (x *torture) settings() []string {
	return []string{"log.initial.task.delay.ms=20", "log.flush.offset.checkpoint.interval.ms=50", "log.flush.start.offset.checkpoint.interval.ms=50",
		"replica.high.watermark.checkpoint.interval.ms=50", "log.segment.delete.delay.ms=100", "log.retention.ms=-1", "log.retention.check.interval.ms=50"}
}

func (x *torture) run(rounds int) {
	p := startProcess(x.t, x.data, x.addr, x.settings())
	conn, err := dial(x.addr)
	if err != nil {
		x.t.Fatal(err)
	}
	err = conn.CreateTopic(tortureTopic, torturePartitions, map[string]string{"internal.segment.bytes": "100000", "segment.index.bytes": "2000", "index.interval.bytes": "500"})
	if err != nil {
		x.t.Fatal(err)
	}
	conn.Close()
	ctx, cancel := context.WithCancel(x.t.Context())
	var working sync.WaitGroup
	producer, consumer := x.clients()
	produceCtx, stopProducing := context.WithCancel(ctx)
	var producing sync.WaitGroup
	producing.Go(func() { x.produce(produceCtx, producer) })
	working.Go(func() { x.consume(ctx, consumer) })
	defer func() {
		cancel()         // of both contexts
		producer.Close() // which lets go of a Produce that waits for room
		producing.Wait()
		working.Wait()
		consumer.Close()
	}()
	for round := 1; round <= rounds && len(x.failures()) == 0; round++ {
		x.round(round, p)
		p = startProcess(x.t, x.data, x.addr, x.settings())
		x.checkTopics(round)
	}
	stopProducing()
	producing.Wait() // so that all that is sent is counted, and in the producer before it is flushed
	x.finish(ctx, producer, p)
}

// round lets some records through, kills the broker at a random moment after, and changes topics meanwhile.
func (x *torture) round(round int, p *Process) {
	x.t.Helper()
	before := x.acks()
	if !await(2*patience, func() bool { return x.acks() > before+50 || len(x.failures()) > 0 }) {
		x.t.Fatalf("round %d: no records are acknowledged\n%s", round, p.Output())
	}
	var admin sync.WaitGroup
	admin.Go(func() { x.changeTopics(round) })
	admin.Go(x.deleteRecords)
	<-time.After(time.Duration(x.rand.IntN(150_000)) * time.Microsecond) // the moment is random on purpose
	if round%cleanEvery == 0 {
		p.Stop(x.t)
	} else {
		p.Kill()
	}
	admin.Wait()
}

func (x *torture) clients() (producer, consumer *kgo.Client) {
	x.t.Helper()
	common := []kgo.Opt{kgo.SeedBrokers(x.addr), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.MetadataMinAge(20 * time.Millisecond), kgo.RetryTimeout(2 * patience)}
	producer, err := kgo.NewClient(append(common, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(time.Millisecond),
		kgo.MaxBufferedRecords(2000), kgo.UnknownTopicRetries(-1))...)
	if err != nil {
		x.t.Fatal(err)
	}
	offsets := map[int32]kgo.Offset{}
	for i := range int32(torturePartitions) {
		offsets[i] = kgo.NewOffset().At(0)
	}
	consumer, err = kgo.NewClient(append(common, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{tortureTopic: offsets}),
		kgo.FetchMaxWait(50*time.Millisecond))...)
	if err != nil {
		x.t.Fatal(err)
	}
	return producer, consumer
}

// produce sends the numbers 0, 1, 2 ... to each partition.
func (x *torture) produce(ctx context.Context, cl *kgo.Client) {
	for n := int64(0); ctx.Err() == nil; n++ {
		for i := range int32(torturePartitions) {
			r := &kgo.Record{Topic: tortureTopic, Partition: i, Value: fmt.Appendf(nil, "%d %0*d", n, n%200, 0)}
			x.mu.Lock()
			x.sent[i]++
			x.mu.Unlock()
			// Not ctx: a record that is given up may or may not be there.
			cl.Produce(context.WithoutCancel(ctx), r, func(r *kgo.Record, err error) { x.answered(r, n, err) })
		}
	}
}

func (x *torture) answered(r *kgo.Record, n int64, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.failLocked("record %d of partition %d: %v", n, r.Partition, err)
		return
	}
	if r.Offset != n {
		x.failLocked("partition %d: number %d was acknowledged at offset %d", r.Partition, n, r.Offset)
	}
	x.ackCount++
	x.acked[r.Partition]++
}

func (x *torture) consume(ctx context.Context, cl *kgo.Client) {
	for ctx.Err() == nil {
		fetches := cl.PollFetches(ctx)
		fetches.EachRecord(func(r *kgo.Record) {
			x.mu.Lock()
			defer x.mu.Unlock()
			want := x.consumed[r.Partition]
			var n int64
			fmt.Sscan(string(r.Value), &n)
			if r.Offset != want || n != want {
				x.failLocked("partition %d: read number %d at offset %d, expected number and offset %d", r.Partition, n, r.Offset, want)
			}
			x.consumed[r.Partition] = r.Offset + 1
		})
	}
}

func (x *torture) failLocked(format string, args ...any) {
	if len(x.wrong) < 20 {
		x.wrong = append(x.wrong, fmt.Sprintf(format, args...))
	}
}

func (x *torture) failures() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wrong
}

func (x *torture) acks() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ackCount
}

// changeTopics creates a topic and deletes the one of two rounds ago, until the broker goes away. What was answered
// is remembered; a topic whose change was not answered may be there or not.
func (x *torture) changeTopics(round int) {
	conn, err := dial(x.addr)
	if err != nil {
		return
	}
	defer conn.Close()
	name, old := fmt.Sprintf("round-%d", round), fmt.Sprintf("round-%d", round-2)
	err = conn.CreateTopic(name, 2, nil)
	x.note(name, true, err == nil)
	if err != nil || round <= 2 {
		return
	}
	code, err := conn.DeleteTopic(old)
	x.note(old, false, err == nil && code == 0)
}

// deleteRecords takes away what the consumer has long read, which moves log starts and removes segments.
func (x *torture) deleteRecords() {
	conn, err := dial(x.addr)
	if err != nil {
		return
	}
	defer conn.Close()
	x.mu.Lock()
	read := x.consumed
	x.mu.Unlock()
	for i, at := range read {
		if _, _, err := conn.DeleteRecords(tortureTopic, int32(i), max(0, at-2000)); err != nil {
			return
		}
	}
}

func (x *torture) note(topic string, there, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known {
		x.topics[topic] = there
	} else {
		delete(x.topics, topic)
	}
}

// checkTopics compares the topics with what was answered, and their directories with them.
func (x *torture) checkTopics(round int) {
	x.t.Helper()
	conn, err := dial(x.addr)
	if err != nil {
		x.t.Fatal(err)
	}
	defer conn.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	for topic, there := range x.topics {
		_, err := conn.ListOffset(topic, 1, -1)
		if (err == nil) != there {
			x.failLocked("round %d: topic %s: %v, expected there: %v", round, topic, err, there)
		}
		if _, err := os.Stat(filepath.Join(x.data, topic+"-1")); (err == nil) != there {
			x.failLocked("round %d: directory of topic %s: %v, expected there: %v", round, topic, err, there)
		}
	}
}

// finish lets everything that was sent arrive, counts, and stops cleanly, which checks the directory.
func (x *torture) finish(ctx context.Context, producer *kgo.Client, p *Process) {
	x.t.Helper()
	flush, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if err := producer.Flush(flush); err != nil {
		x.t.Errorf("flush: %v", err)
	}
	if !await(2*patience, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.consumed == x.sent || len(x.wrong) > 0
	}) {
		x.t.Errorf("sent %v, consumed %v", x.sent, x.consumed)
	}
	p.Stop(x.t)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.wrong {
		x.t.Error(w)
	}
	total := int64(0)
	for i := range x.sent {
		total += x.sent[i]
		if x.acked[i] != x.sent[i] {
			x.t.Errorf("partition %d: %d sent, %d acknowledged", i, x.sent[i], x.acked[i])
		}
	}
	x.t.Logf("%d records, %d topics made and deleted", total, len(x.topics))
}
