package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestBrokenLogDir starts a broker on two log dirs, one of which cannot be read: its partition answers
// KAFKA_STORAGE_ERROR, the other's goes on. When the directory is back, so are its records.
func TestBrokenLogDir(t *testing.T) {
	top, addr := t.TempDir(), freeAddr(t)
	good, bad := filepath.Join(top, "a"), filepath.Join(top, "b")
	start := func() (*Process, *Conn) {
		t.Helper()
		p := startArgs(t, good, addr, []string{"--listen", addr, "--override", "log.dirs=" + good + "," + bad, "--override", "log.retention.ms=-1"})
		conn, err := dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		return p, conn
	}
	p, conn := start()
	if err := conn.CreateTopic("two", 2, nil); err != nil {
		t.Fatal(err)
	}
	batches := exampleBatches(t)
	broken := int32(-1)
	for i := range int32(2) {
		if a, err := conn.Produce("two", i, batches[0]); err != nil || a.ErrorCode != 0 {
			t.Fatalf("produce: %v, error %d", err, a.ErrorCode)
		}
		if _, err := os.Stat(filepath.Join(bad, "two-"+string(rune('0'+i)))); err == nil {
			broken = i
		}
	}
	if broken < 0 {
		t.Fatal("no partition was placed in the second log dir")
	}
	conn.Close()
	p.Stop(t)
	mend := breakDir(t, bad)
	p, conn = start()
	for i := range int32(2) {
		want := int16(0)
		if i == broken {
			want = kerr.KafkaStorageError.Code
		}
		a, err := conn.Produce("two", i, batches[1])
		if err != nil || a.ErrorCode != want {
			t.Errorf("produce to partition %d: %v, error %d, expected %d", i, err, a.ErrorCode, want)
		}
		if _, err := conn.ListOffset("two", i, -1); (err == nil) != (want == 0) {
			t.Errorf("end of partition %d: %v", i, err)
		}
	}
	awaitLine(t, p, "Stopping serving logs in dir "+bad)
	conn.Close()
	p.Stop(t)
	mend()
	p, conn = start()
	for i, want := range []int64{20, 20} {
		if int32(i) == broken {
			want = 10
		}
		if end, err := conn.ListOffset("two", int32(i), -1); err != nil || end != want {
			t.Errorf("partition %d ends at %d, expected %d (%v)", i, end, want, err)
		}
	}
	conn.Close()
	p.Stop(t)
	verifyStore(t, bad)
}

// breakDir puts a file in the place of a directory until mend is called.
func breakDir(t *testing.T, dir string) (mend func()) {
	t.Helper()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, []byte("no directory"), 0o644); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
	}
}
