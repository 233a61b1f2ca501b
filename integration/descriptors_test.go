package integration

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceToAll writes a record to each partition and waits for all of them. Two of them are enough for entries of the indexes.
func produceToAll(t *testing.T, cl *kgo.Client, topic string, partitions int) {
	t.Helper()
	var records []*kgo.Record
	for p := range partitions {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(p), Value: make([]byte, 3000)})
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// crowd opens connections, each with a request, and counts those that are answered. end closes them all.
func crowd(t *testing.T, addr string, n int) (answered *atomic.Int32, end func()) {
	t.Helper()
	answered = &atomic.Int32{}
	var wg sync.WaitGroup
	var all []net.Conn
	for range n {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		all = append(all, nc)
		if _, err := nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.ApiVersionsRequest{}, 1)); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if _, err := io.ReadFull(nc, make([]byte, 4)); err == nil {
				answered.Add(1)
			}
		})
	}
	return answered, func() {
		for _, nc := range all {
			nc.Close()
		}
		wg.Wait()
	}
}

// TestFewDescriptors: a broker that may have 256 files open serves 600 partitions and as many connections as there is room for, while more
// wait; the log says what to do, and the data stay whole.
func TestFewDescriptors(t *testing.T) {
	const partitions, rounds, crowded, room = 600, 3, 300, 176 // room: as the broker divides 256
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := launch(t, "broker", &Process{Addr: addr, Data: data, cmd: exec.Command("sh", "-c", `ulimit -n 256; exec "$0" "$@"`,
		os.Getenv(brokerBinaryEnv), "--data-dir", data, "--listen", addr)}, patience)
	cl := newClient(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if code, message := newTopic(t, cl, "few", partitions); code != 0 {
		t.Fatalf("error %d: %s", code, message)
	}
	produceToAll(t, cl, "few", partitions)
	answered, end := crowd(t, addr, crowded)
	if !await(patience, func() bool {
		return answered.Load() >= room*3/4 && strings.Contains(p.Output(), "new connections wait until others are closed")
	}) {
		t.Errorf("%d connections were answered, and the log does not say why others wait", answered.Load())
	}
	for range rounds - 1 {
		produceToAll(t, cl, "few", partitions)
	}
	if n := answered.Load(); n > room {
		t.Errorf("%d connections were answered, and there was room for %d", n, room)
	}
	end()
	cl.AddConsumePartitions(fromTheStart("few", partitions))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for left := partitions * rounds; left > 0; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d records are missing: %v\n%s", left, err, p.Output())
		}
		left -= fetches.NumRecords()
	}
	cl.Close()
	if out := p.Output(); strings.Contains(out, "too many open files") || !strings.Contains(out, "The limit of open files is 256") {
		t.Errorf("the log:\n%s", out)
	}
	p.Stop(t)
}

// fromTheStart are all partitions of a topic from their first record on.
func fromTheStart(topic string, partitions int) map[string]map[int32]kgo.Offset {
	offsets := make(map[int32]kgo.Offset, partitions)
	for p := range partitions {
		offsets[int32(p)] = kgo.NewOffset().AtStart()
	}
	return map[string]map[int32]kgo.Offset{topic: offsets}
}
