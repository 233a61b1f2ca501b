package integration

import (
	"path/filepath"
	"testing"
)

// TestDeleteRecordsAnswers: -1 means the high watermark, offsets beyond it or below -1 are refused, one below the start
// changes nothing; a compacted topic refuses, one that is also deleted from does not, an internal one does.
func TestDeleteRecordsAnswers(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	p := startProcess(t, filepath.Join(t.TempDir(), "data"), addr, []string{"log.retention.ms=-1"})
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	batch := exampleBatches(t)[0] // ten records
	for topic, policy := range map[string]string{"plain": "delete", "both": "compact,delete", "compacted": "compact"} {
		if err := conn.CreateTopic(topic, 1, map[string]string{"cleanup.policy": policy}); err != nil {
			t.Fatal(err)
		}
		if a, err := conn.Produce(topic, 0, batch); err != nil || (a.ErrorCode != 0 && policy == "delete") {
			t.Fatalf("produce: %v, error %d", err, a.ErrorCode)
		}
	}
	cl := newClient(t, addr)
	commit(t, cl, "g", "plain", 1)
	cl.Close()
	for _, c := range []struct {
		topic  string
		offset int64
		low    int64
		code   int16
	}{
		{"plain", 4, 4, 0}, {"plain", 2, 4, 0}, {"plain", 11, -1, 1}, {"plain", -2, -1, 1}, {"plain", -1, 10, 0},
		{"compacted", 0, -1, 44}, {"both", 0, 0, 0}, {"absent", 0, -1, 3}, {"__consumer_offsets", 0, -1, 17},
	} {
		low, code, err := conn.DeleteRecords(c.topic, 0, c.offset)
		if err != nil || low != c.low || code != c.code {
			t.Errorf("delete records of %s below %d: low watermark %d, error %d, expected %d, %d (%v)", c.topic, c.offset, low, code, c.low, c.code, err)
		}
	}
	p.Stop(t)
}
