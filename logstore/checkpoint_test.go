package logstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minibroker/internal/vfs"
)

// golden reads a file that Kafka wrote.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "kafka", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// memFile is a file system with one directory /d and in it one file.
func memFile(t testing.TB, name string, data []byte) (vfs.FS, string) {
	t.Helper()
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	path := "/d/" + name
	if err := vfs.WriteFileAtomic(fsys, path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return fsys, path
}

func readAll(t testing.TB, fsys vfs.FS, path string) []byte {
	t.Helper()
	data, err := vfs.ReadFile(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestOffsetCheckpointGolden reads files of Kafka and writes them back from a
// map: byte for byte, including the order of the lines.
func TestOffsetCheckpointGolden(t *testing.T) {
	for _, name := range []string{"recovery-point", "log-start", "replication"} {
		want := golden(t, "multi/"+name+"-offset-checkpoint")
		fsys, path := memFile(t, name+"-offset-checkpoint", want)
		offsets, err := ReadOffsetCheckpoint(fsys, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteOffsetCheckpoint(fsys, path, offsets); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, fsys, path); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

// TestCheckpointEntriesGolden writes in the order in which the topics were
// created, which decides between partitions that share a slot of the map.
func TestCheckpointEntriesGolden(t *testing.T) {
	created := []string{"ii0", "ii1", "iibig", "iiexact", "unordered", "unroll", "notime", "lat", "latgzip"}
	for _, name := range []string{"recovery-point-offset-checkpoint", "replication-offset-checkpoint"} {
		want := golden(t, "index/"+name)
		fsys, path := memFile(t, name, want)
		offsets, err := ReadOffsetCheckpoint(fsys, path)
		if err != nil || len(offsets) != len(created) {
			t.Fatal(len(offsets), err)
		}
		var entries []CheckpointEntry
		for _, topic := range created {
			tp := TopicPartition{topic, 0}
			entries = append(entries, CheckpointEntry{tp, offsets[tp]})
		}
		if err := WriteCheckpointEntries(fsys, path, entries); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, fsys, path); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

func TestOffsetCheckpointEmpty(t *testing.T) {
	fsys, path := memFile(t, recoveryPointCheckpoint, nil)
	for _, text := range []string{"", "0\n", "0\n0\n", "0\r\n0\r\n", "0\n0"} {
		if err := vfs.WriteFileAtomic(fsys, path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := ReadOffsetCheckpoint(fsys, path); err != nil || len(m) != 0 {
			t.Errorf("%q: got %v, %v", text, m, err)
		}
	}
	if m, err := ReadOffsetCheckpoint(fsys, "/d/none"); err != nil || len(m) != 0 {
		t.Errorf("missing: got %v, %v", m, err)
	}
	if err := WriteOffsetCheckpoint(fsys, path, nil); err != nil {
		t.Fatal(err)
	}
	if got := string(readAll(t, fsys, path)); got != "0\n0\n" {
		t.Errorf("got %q", got)
	}
}

func TestOffsetCheckpointDamages(t *testing.T) {
	for text, want := range map[string]struct {
		kind error
		line int
	}{
		"x\n0\n":                          {ErrMalformed, 1},
		"\n0\n":                           {ErrMalformed, 1},
		"1\n0\n":                          {ErrVersion, 1},
		"0\nx\n":                          {ErrMalformed, 2},
		"0\n1\n":                          {ErrMalformed, 2},
		"0\n-1\n":                         {ErrMalformed, 2},
		"0\n99999999999\n":                {ErrMalformed, 2},
		"0\n2\nt 0 1\n":                   {ErrMalformed, 2},
		"0\n0\nt 0 1\n":                   {ErrMalformed, 2},
		"0\n1\nt 0\n":                     {ErrMalformed, 3},
		"0\n1\nt 0 1 2\n":                 {ErrMalformed, 3},
		"0\n1\nt 0 1\n\n":                 {ErrMalformed, 4},
		"0\n1\n t 0 1\n":                  {ErrMalformed, 3},
		"0\n1\nt x 1\n":                   {ErrNotANumber, 3},
		"0\n2\nt 0 1\nt 1 x\n":            {ErrNotANumber, 4},
		"0\n1\nt 0 9223372036854775808\n": {ErrNotANumber, 3},
		"0\n1\nt 2147483648 1\n":          {ErrNotANumber, 3},
		"\x00\x00\x00":                    {ErrMalformed, 1},
	} {
		fsys, path := memFile(t, recoveryPointCheckpoint, []byte(text))
		m, err := ReadOffsetCheckpoint(fsys, path)
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || !errors.Is(err, want.kind) {
			t.Errorf("%q: got %v, %v", text, m, err)
			continue
		}
		if corrupt.Line != want.line || corrupt.File != path || !strings.Contains(err.Error(), path+":") {
			t.Errorf("%q: located at %s:%d (%v), want line %d", text, corrupt.File, corrupt.Line, err, want.line)
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(golden(f, "multi/recovery-point-offset-checkpoint"))
	f.Add([]byte("0\n1\nt 0 5\n"))
	f.Add([]byte("0\r1\rt\t0\v5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseOffsetCheckpoint("f", data)
		if err != nil {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || m != nil {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		fsys, path := memFile(t, replicationCheckpoint, nil)
		if err := WriteOffsetCheckpoint(fsys, path, m); err != nil {
			t.Fatal(err)
		}
		again, err := ReadOffsetCheckpoint(fsys, path)
		if err != nil || len(again) != len(m) {
			t.Fatalf("%v became %v, %v", m, again, err)
		}
		for tp, offset := range m {
			if again[tp] != offset {
				t.Fatalf("%v became %v", m, again)
			}
		}
	})
}

// marks looks high watermarks up.
func marks(m map[TopicPartition]int64) func(TopicPartition) (int64, bool) {
	return func(tp TopicPartition) (int64, bool) {
		at, ok := m[tp]
		return at, ok
	}
}

// TestCheckpointsAtRest: the files are rewritten when they would get another text, and else not.
func TestCheckpointsAtRest(t *testing.T) {
	mem := vfs.NewMem()
	s, l := snapshotStore(t, mem)
	write := func() (written int64) {
		t.Helper()
		before := mem.Ops()
		must(t, s.CheckpointRecoveryPoints(), s.CheckpointLogStartOffsets(),
			s.CheckpointHighWatermarks(marks(map[TopicPartition]int64{crashed: l.EndOffset()})))
		return mem.Ops() - before
	}
	for range 3 {
		if write() == 0 {
			t.Error("nothing was written after a change")
		}
		if n := write(); n > 0 {
			t.Errorf("%d operations on files at rest", n)
		}
		mustAppend(t, l, byProducer(t, int(l.EndOffset())), AppendOptions{Sync: true})
		s.env.background.Wait()
	}
	must(t, s.Close(CleanStop{}))
}

// BenchmarkCheckpointsAtRest looks at the high watermarks of a thousand partitions that have not moved.
func BenchmarkCheckpointsAtRest(b *testing.B) {
	s, ends := restingStore(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.CheckpointHighWatermarks(ends); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheckpoint writes the high watermarks of ten thousand partitions, one of which has moved.
func BenchmarkCheckpoint(b *testing.B) {
	s, _ := restingStore(b, 10_000)
	b.ReportAllocs()
	moved := int64(7)
	for b.Loop() {
		moved++
		err := s.CheckpointHighWatermarks(func(tp TopicPartition) (int64, bool) {
			if tp.Partition == 0 {
				return moved, true
			}
			return 7, true
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestCheckpointsAtRestAllocateLittle: what has not changed costs no memory for each partition.
func TestCheckpointsAtRestAllocateLittle(t *testing.T) {
	s, ends := restingStore(t, 100)
	if n := testing.AllocsPerRun(10, func() { must(t, s.CheckpointHighWatermarks(ends)) }); n > 5 {
		t.Errorf("%v allocations", n)
	}
}

// restingStore has partitions whose high watermarks are written.
func restingStore(t testing.TB, partitions int32) (*Store, func(TopicPartition) (int64, bool)) {
	s, err := Open(Options{FS: vfs.NewMem(), Dirs: []string{"/a"}, NodeID: 1, Default: DefaultConfig()})
	must(t, err)
	t.Cleanup(func() { must(t, s.Abort()) })
	must(t, s.Load(t.Context()))
	for i := range partitions {
		_, err := s.Create(TopicPartition{Topic: "t", Partition: i}, NewUUID(), nil, s.o.Default)
		must(t, err)
	}
	ends := func(TopicPartition) (int64, bool) { return 7, true }
	must(t, s.CheckpointHighWatermarks(ends))
	return s, ends
}
