package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// smallDisk mounts a tmpfs of some bytes for the length of a test.
func smallDisk(t *testing.T, bytes int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("minibroker-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		skipOrFail(t, "needs to mount a tmpfs, which takes root on Linux: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// TestFullDisk fills a real file system under a broker: the producer is told KAFKA_STORAGE_ERROR, nothing of its batch
// stays, records can still be read, and when space returns so does service, without a restart.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t, 24<<20)
	data, addr := filepath.Join(disk, "data"), freeAddr(t)
	p := startProcess(t, data, addr, []string{"log.retention.ms=-1"})
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.CreateTopic("full", 1, map[string]string{"internal.segment.bytes": "300000"}); err != nil {
		t.Fatal(err)
	}
	batches, next, refused := exampleBatches(t), int64(0), 0
	produce := func(i int) bool {
		t.Helper()
		answer, err := conn.Produce("full", 0, batches[i%len(batches)])
		if err != nil {
			t.Fatalf("produce: %v\n%s", err, p.Output())
		}
		switch {
		case answer.ErrorCode == kerr.KafkaStorageError.Code:
			refused++
			return false
		case answer.ErrorCode != 0 || answer.BaseOffset != next:
			t.Fatalf("batch at %d: error %d, offset %d", next, answer.ErrorCode, answer.BaseOffset)
		}
		next += 10
		return true
	}
	for round := range 3 {
		ballast := filepath.Join(disk, "ballast")
		writeUntilFull(t, ballast, round)
		filled := 0
		for produce(filled) {
			if filled++; filled > 20000 {
				t.Fatal("the disk does not fill")
			}
		}
		for range 5 {
			if produce(0) {
				t.Fatal("accepted on a full disk")
			}
		}
		if end := endOffset(t, addr, "full"); end != next {
			t.Fatalf("log ends at %d, acknowledged up to %d", end, next)
		}
		if got := fetchSize(t, conn, "full"); got == 0 {
			t.Error("nothing can be read from a full disk")
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for i := range 150 {
			if !produce(i) {
				t.Fatalf("refused although there is space\n%s", p.Output())
			}
		}
		t.Logf("round %d: %d batches until full, %d in all", round, filled, next/10)
	}
	if n := strings.Count(p.Output(), "no space left on device"); n == 0 || n > 10*refused {
		t.Errorf("%d lines about the full disk for %d refused requests", n, refused)
	}
	p.Stop(t)
	p = startProcess(t, data, addr, nil)
	if end := endOffset(t, addr, "full"); end != next {
		t.Errorf("log ends at %d after a restart, acknowledged up to %d", end, next)
	}
	p.Stop(t)
}

// writeUntilFull makes a file that leaves only a little space, a different amount each round.
func writeUntilFull(t *testing.T, path string, round int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block, size := make([]byte, 64<<10), int64(0)
	for {
		n, err := f.WriteAt(block, size)
		size += int64(n)
		if err != nil {
			break
		}
	}
	if err := f.Truncate(max(0, size-int64(900_000+round*333_000))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// fetchSize fetches from the start of partition 0 and gives the bytes of records.
func fetchSize(t *testing.T, conn *Conn, topic string) int {
	t.Helper()
	r := kmsg.NewPtrFetchRequest()
	r.ReplicaID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes = -1, 500, 1, 1<<20
	part := kmsg.NewFetchRequestTopicPartition()
	part.PartitionMaxBytes = 1 << 20
	top := kmsg.NewFetchRequestTopic()
	top.Topic, top.Partitions = topic, append(top.Partitions, part)
	r.Topics = append(r.Topics, top)
	resp, err := conn.Request(r, 11)
	if err != nil {
		t.Fatal(err)
	}
	got := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		t.Fatalf("fetch: error %d", got.ErrorCode)
	}
	return len(got.RecordBatches)
}
