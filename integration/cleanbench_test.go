package integration

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cleanBenchEnv has TestBenchCompaction measure with so many MB; make cleanbench sets it.
const cleanBenchEnv = "MINIBROKER_BENCH_COMPACTION"

// cleanFigures is what compacting a log took.
type cleanFigures struct {
	broker          string
	wall            time.Duration // until the cleaner's checkpoint names the log
	cpu             time.Duration // of the broker meanwhile
	longest, calm   time.Duration // that a reader waited meanwhile, and for 500 reads before
	peakMiB, leftMB float64
	reads           int
}

// TestBenchCompaction writes every key twice, makes the topic compacted and measures how long the cleaner takes, on
// minibroker and then on Apache Kafka 4.4.0, while a reader asks for any offset every two milliseconds. It asserts nothing
// about speed. Without the environment variable it runs on minibroker alone, with 4 MB. What is left is checked in any case.
func TestBenchCompaction(t *testing.T) {
	mb := envInt(t, cleanBenchEnv, 0)
	if mb == 0 {
		benchCompaction(t, false, 4)
		return
	}
	for _, kafka := range []bool{false, true} {
		f := benchCompaction(t, kafka, mb)
		fmt.Fprintf(os.Stdout, "| %s | %d | %.2f s | %.2f s | %.1f ms of %d reads, %.1f ms before | %.0f MiB | %.0f MB |\n", f.broker, mb, f.wall.Seconds(), f.cpu.Seconds(),
			milliseconds(f.longest), f.reads, milliseconds(f.calm), f.peakMiB, f.leftMB)
	}
}

// benchRecord is about the size of a record with its overhead; its value is 232 bytes, half of them random.
const benchRecord = 250

func benchCompaction(t *testing.T, kafka bool, mb int) cleanFigures {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	f := cleanFigures{broker: "minibroker"}
	p := startProcess(t, data, freeAddr(t), []string{"log.cleaner.backoff.ms=100"})
	if kafka {
		p.Stop(t) // the directory is formatted
		p, f.broker = startKafka(t, []string{data}, freeAddr(t), "log.cleaner.backoff.ms=100"), "Kafka"
	}
	conn, err := dial(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.CreateTopic("bench", 1, map[string]string{"cleanup.policy": "delete", "min.cleanable.dirty.ratio": "0.01",
		"segment.bytes": strconv.Itoa(max(1<<20, mb*1_000_000/8))}); err != nil {
		t.Fatal(err)
	}
	keys := mb * 1_000_000 / benchRecord / 2
	writeKeys(t, p.Addr, keys)
	const calmReads = 500
	f.calm, _ = readUntil(t, conn, int64(2*keys), func(reads int) bool { return mb < 100 || reads == calmReads })
	before := p.cpu(t)
	begun := time.Now()
	if code, err := conn.AlterTopic("bench", map[string]string{"cleanup.policy": "compact"}); code != 0 || err != nil {
		t.Fatalf("error %d, %v", code, err)
	}
	f.longest, f.reads = readUntil(t, conn, int64(2*keys), func(int) bool {
		b, _ := os.ReadFile(filepath.Join(p.Data, "cleaner-offset-checkpoint"))
		return strings.Contains(string(b), "\nbench 0 ")
	})
	f.wall, f.cpu = time.Since(begun), p.cpu(t)-before
	f.peakMiB = p.peakMiB(t)
	f.leftMB = float64(checkKeys(t, p.Addr, keys)*benchRecord) / 1e6
	p.end(t)
	return f
}

// writeKeys writes each key twice, in the same order.
func writeKeys(t *testing.T, addr string, keys int) {
	t.Helper()
	cl := newClient(t, addr, kgo.DefaultProduceTopic("bench"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(64<<10))
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	rng := rand.New(rand.NewPCG(1, 1))
	failed := make(chan error, 1)
	for n := range 2 * keys {
		value := make([]byte, 232)
		binary.BigEndian.PutUint64(value, uint64(n))
		for i := 8; i < 120; i += 8 {
			binary.BigEndian.PutUint64(value[i:], rng.Uint64())
		}
		cl.Produce(ctx, &kgo.Record{Key: binary.BigEndian.AppendUint64(nil, uint64(n%keys)), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
}

// readUntil asks for a batch at any offset, every two milliseconds, until done says so, and gives the longest time that it
// waited for an answer.
func readUntil(t *testing.T, conn *Conn, end int64, done func(reads int) bool) (longest time.Duration, reads int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 2))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(4 * patience); time.Now().Before(deadline); <-tick.C {
		if done(reads) {
			return longest, reads
		}
		asked := time.Now()
		answer := fetchOne(t, conn, "bench", rng.Int64N(end))
		longest = max(longest, time.Since(asked))
		if reads++; answer.ErrorCode != 0 {
			t.Fatalf("fetch: error %d", answer.ErrorCode)
		}
	}
	t.Fatalf("not done after %d reads", reads)
	return 0, 0
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// checkKeys reads what is left and expects the newest record of each key; it returns the number of records.
func checkKeys(t *testing.T, addr string, keys int) (records int) {
	t.Helper()
	cl := newClient(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"bench": {0: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	newest := 0
	for last := int64(-1); last < int64(2*keys)-1; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n := binary.BigEndian.Uint64(r.Value)
			if r.Offset <= last || n != uint64(r.Offset) || binary.BigEndian.Uint64(r.Key) != n%uint64(keys) {
				t.Fatalf("offset %d after %d holds record %d", r.Offset, last, n)
			}
			last = r.Offset
			records++
			if n >= uint64(keys) {
				newest++
			}
		})
	}
	if newest != keys || records >= 2*keys {
		t.Errorf("%d records are left, the newest of %d keys; there are %d", records, newest, keys)
	}
	return records
}

// fetchOne asks for one byte at an offset; the answer is a whole batch.
func fetchOne(t *testing.T, conn *Conn, topic string, offset int64) kmsg.FetchResponseTopicPartition {
	t.Helper()
	r := kmsg.NewPtrFetchRequest()
	r.ReplicaID, r.MaxBytes, r.SessionEpoch = -1, 1, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = offset, 1, -1
	rt.Partitions = append(rt.Partitions, rp)
	r.Topics = append(r.Topics, rt)
	resp, err := conn.Request(r, 12)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

// cpu is the processor time that the process took so far, by /proc; 0 where there is none.
func (p *Process) cpu(t *testing.T) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ") // behind the name
	fields := strings.Fields(rest)
	const utime, stime, ticks = 11, 12, 100 // a second
	total := 0
	for _, i := range []int{utime, stime} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return time.Duration(total) * time.Second / ticks
}

// peakMiB is the most memory that the process had, by /proc; 0 where there is none.
func (p *Process) peakMiB(t *testing.T) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	fields := strings.Fields(rest)
	n, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n / 1024
}
