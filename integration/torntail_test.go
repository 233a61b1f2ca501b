package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestTailsAfterKill puts what a power loss may leave behind the last batch of a topic and of the groups' topic: zeros, half
// a batch, a few bytes. After each the broker starts, the log ends where it ended, the next record gets that offset, and
// the committed offsets are all there. After a clean stop too, where Kafka 4.4.0 does not start on the zeros.
func TestTailsAfterKill(t *testing.T) {
	batches := exampleBatches(t)
	half := batches[0][:len(batches[0])/2]
	for name, c := range map[string]struct {
		tail  []byte
		clean bool
	}{
		"zeros": {make([]byte, 4096), false}, "half a batch": {half, false}, "eleven bytes": {half[:11], false},
		"zeros after a clean stop": {make([]byte, 4096), true}, "half a batch after a clean stop": {half, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
			overrides := []string{"log.retention.ms=-1", "offsets.topic.num.partitions=1"}
			p := startProcess(t, data, addr, overrides)
			conn, err := dial(addr)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.CreateTopic("t", 1, nil); err != nil {
				t.Fatal(err)
			}
			cl := newClient(t, addr)
			for i := range int64(20) {
				if a, err := conn.Produce("t", 0, batches[i]); err != nil || a.ErrorCode != 0 {
					t.Fatalf("produce: %v, error %d", err, a.ErrorCode)
				}
				commit(t, cl, "g", "t", 10*i)
			}
			before := committed(t, cl, "g")
			conn.Close()
			cl.Close()
			if c.clean {
				p.Stop(t)
			} else {
				p.Kill()
			}
			for _, dir := range []string{"t-0", "__consumer_offsets-0"} {
				lengthen(t, filepath.Join(data, dir, "00000000000000000000.log"), c.tail)
			}
			p = startProcess(t, data, addr, overrides)
			if conn, err = dial(addr); err != nil {
				t.Fatal(err)
			}
			if end, err := conn.ListOffset("t", 0, -1); err != nil || end != 200 {
				t.Errorf("the log ends at %d: %v", end, err)
			}
			if a, err := conn.Produce("t", 0, batches[20]); err != nil || a.ErrorCode != 0 || a.BaseOffset != 200 {
				t.Errorf("the next record gets %d: %v, error %d", a.BaseOffset, err, a.ErrorCode)
			}
			cl = newClient(t, addr)
			if after := committed(t, cl, "g"); len(before) != 1 || !slices.Equal(after, before) {
				t.Errorf("committed %v, before %v", after, before)
			}
			commit(t, cl, "g", "t", 210)
			cl.Close()
			conn.Close()
			p.Stop(t)
		})
	}
}

// lengthen appends bytes to a file of a broker that is down.
func lengthen(t *testing.T, path string, tail []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(tail); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
