package logstore

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"minibroker/internal/vfs"
)

func newEpochs(t *testing.T, text string) (*LeaderEpochs, vfs.FS) {
	t.Helper()
	fsys, _ := memFile(t, leaderEpochCheckpointName, []byte(text))
	e, err := openLeaderEpochs(fsys, "/d")
	if err != nil {
		t.Fatal(err)
	}
	return e, fsys
}

func epochText(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	return string(readAll(t, fsys, "/d/"+leaderEpochCheckpointName))
}

func TestLeaderEpochsGolden(t *testing.T) {
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := openLeaderEpochs(fsys, "/d")
	if err != nil {
		t.Fatal(err)
	}
	if got := epochText(t, fsys); got != "" {
		t.Fatalf("a new file holds %q", got)
	}
	if _, ok := e.Latest(); ok {
		t.Fatal("a new file has an epoch")
	}
	if err := e.Assign(0, 0); err != nil {
		t.Fatal(err)
	}
	if got, want := epochText(t, fsys), string(golden(t, "ex1/leader-epoch-checkpoint")); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	// Two restarts: the second finds no new records and takes the line over.
	for _, epoch := range []int32{2, 4} {
		if err := e.Assign(epoch, 12000); err != nil {
			t.Fatal(err)
		}
	}
	want := golden(t, "ex1/leader-epoch-checkpoint-restarted")
	if got := epochText(t, fsys); got != string(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	again, err := openLeaderEpochs(fsys, "/d")
	if err != nil || !slices.Equal(again.load(), e.load()) {
		t.Fatalf("read back %v, %v", again, err)
	}
}

func TestLeaderEpochsAssign(t *testing.T) {
	const three = "0\n3\n0 0\n2 100\n5 200\n"
	for _, c := range []struct {
		epoch int32
		start int64
		want  string
	}{
		{6, 300, "0\n4\n0 0\n2 100\n5 200\n6 300\n"},
		{5, 200, three},
		{5, 250, three},
		{5, 150, "0\n3\n0 0\n2 100\n5 150\n"},
		{6, 200, "0\n3\n0 0\n2 100\n6 200\n"},
		{6, 100, "0\n2\n0 0\n6 100\n"},
		{2, 300, "0\n2\n0 0\n2 300\n"},
		{1, 50, "0\n2\n0 0\n1 50\n"},
		{0, 0, "0\n1\n0 0\n"},
	} {
		e, fsys := newEpochs(t, three)
		if err := e.Assign(c.epoch, c.start); err != nil {
			t.Fatal(err)
		}
		if got := epochText(t, fsys); got != c.want {
			t.Errorf("assign %d at %d: got %q, want %q", c.epoch, c.start, got, c.want)
		}
	}
	e, _ := newEpochs(t, three)
	if err := errors.Join(e.Assign(-1, 0)); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	if err := e.Assign(7, -1); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestLeaderEpochsEndOffset(t *testing.T) {
	e, _ := newEpochs(t, "0\n3\n2 10\n4 100\n5 200\n")
	for _, c := range []struct {
		ask, epoch int32
		end        int64
	}{
		{-1, -1, -1}, {0, 0, 10}, {1, 1, 10}, {2, 2, 100}, {3, 2, 100}, {4, 4, 200}, {5, 5, 777}, {6, -1, -1},
	} {
		if epoch, end := e.EndOffsetFor(c.ask, 777); epoch != c.epoch || end != c.end {
			t.Errorf("epoch %d: got %d, %d, want %d, %d", c.ask, epoch, end, c.epoch, c.end)
		}
	}
	for offset, want := range map[int64]int32{9: -1, 10: 2, 99: 2, 100: 4, 200: 5, 1000: 5} {
		if got, ok := e.EpochAt(offset); got != want || ok != (want >= 0) {
			t.Errorf("offset %d: got %d, %v", offset, got, ok)
		}
	}
	none, _ := newEpochs(t, "")
	if epoch, end := none.EndOffsetFor(0, 5); epoch != -1 || end != -1 {
		t.Errorf("empty: got %d, %d", epoch, end)
	}
}

func TestLeaderEpochsTruncate(t *testing.T) {
	const three = "0\n3\n0 0\n2 100\n5 200\n"
	for _, c := range []struct {
		fromStart, fromEnd int64
		want               string
	}{
		{-1, 201, three},
		{-1, 200, "0\n2\n0 0\n2 100\n"},
		{-1, 100, "0\n1\n0 0\n"},
		{-1, 0, "0\n0\n"},
		{0, -1, three},
		{50, -1, "0\n3\n0 50\n2 100\n5 200\n"},
		{100, -1, "0\n2\n2 100\n5 200\n"},
		{3830, -1, "0\n1\n5 3830\n"},
	} {
		e, fsys := newEpochs(t, three)
		var err error
		if c.fromStart >= 0 {
			err = e.truncateFromStart(c.fromStart)
		} else {
			e.truncateFromEnd(c.fromEnd)
			err = e.settle()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := epochText(t, fsys); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// TestLeaderEpochsWriteError: what could not be written is not believed.
func TestLeaderEpochsWriteError(t *testing.T) {
	broken := errors.New("disk full")
	mem, _ := memFile(t, leaderEpochCheckpointName, []byte("0\n1\n0 0\n"))
	e, err := openLeaderEpochs(vfs.NewFaulty(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename {
			return broken
		}
		return nil
	}), "/d")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Assign(2, 10); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if epoch, ok := e.Latest(); epoch != 0 || !ok {
		t.Errorf("latest epoch is %d after a failed write", epoch)
	}
}

func TestLeaderEpochsDamages(t *testing.T) {
	for text, want := range map[string]error{
		"0\n1\n0\n":     ErrMalformed,
		"0\n1\n0 0 0\n": ErrMalformed,
		"0\n2\n0 0\n":   ErrMalformed,
		"0\n1\n-1 0\n":  ErrMalformed,
		"0\n1\n0 -5\n":  ErrMalformed,
		"0\n1\nx 0\n":   ErrNotANumber,
		"0\n1\n0 x\n":   ErrNotANumber,
		"7\n1\n0 0\n":   ErrVersion,
	} {
		fsys, _ := memFile(t, leaderEpochCheckpointName, []byte(text))
		var corrupt *CorruptError
		if _, err := openLeaderEpochs(fsys, "/d"); !errors.Is(err, want) || !errors.As(err, &corrupt) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if _, err := openLeaderEpochs(vfs.NewMem(), "/none/here"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: got %v", err)
	}
}

func FuzzLeaderEpochs(f *testing.F) {
	f.Add(golden(f, "ex1/leader-epoch-checkpoint"))
	f.Add(golden(f, "ex1/leader-epoch-checkpoint-restarted"))
	f.Add([]byte("0\n3\n0 0\n2 100\n1 50\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseLeaderEpochs("f", data)
		if err != nil {
			return
		}
		for i := 1; i < len(entries); i++ {
			if entries[i].epoch <= entries[i-1].epoch || entries[i].start <= entries[i-1].start {
				t.Fatalf("not ascending: %v", entries)
			}
		}
		text := formatLeaderEpochs(entries)
		again, err := parseLeaderEpochs("f", text)
		if err != nil || !slices.Equal(again, entries) || !bytes.Equal(formatLeaderEpochs(again), text) {
			t.Fatalf("%v became %v, %v", entries, again, err)
		}
	})
}
