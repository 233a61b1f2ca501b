package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"minibroker/internal/vfs"
)

const fullIndex = 10_485_760

func sizeOf(t testing.TB, fsys vfs.FS, path string) int64 {
	t.Helper()
	info, err := fsys.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestOffsetIndexGolden appends the entries that Kafka made: the file has its
// full size while it takes entries, and Kafka's bytes once it is trimmed.
func TestOffsetIndexGolden(t *testing.T) {
	for _, base := range []int64{0, 11490} {
		name := segmentFileName(base, indexSuffix)
		want := golden(t, "ex1/"+name)
		fsys, _ := memFile(t, "other", nil)
		x := openOffsetIndex(fsys, "/d/"+name, base, fullIndex)
		for e := want; len(e) > 0; e = e[offsetEntrySize:] {
			must(t, x.append(base+entryOffset(e), int32(entryPosition(e))))
		}
		if size := sizeOf(t, fsys, "/d/"+name); size != fullIndex {
			t.Errorf("%s is active with %d bytes", name, size)
		}
		must(t, x.trim())
		if got := readAll(t, fsys, "/d/"+name); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", name, got, want)
		}
	}
}

func TestOffsetIndexLookupGolden(t *testing.T) {
	name := segmentFileName(0, indexSuffix)
	fsys, path := memFile(t, name, golden(t, "ex1/"+name))
	x := openOffsetIndex(fsys, path, 0, fullIndex)
	for _, c := range []struct {
		target, offset int64
		pos            int32
	}{
		{0, 0, 0}, {28, 0, 0}, {29, 29, 5462}, {35, 29, 5462}, {49, 49, 10924}, {50, 49, 10924},
		{3829, 3829, 1_043_242}, {math.MaxInt64, 3829, 1_043_242},
	} {
		if offset, pos, err := x.lookup(c.target); err != nil || offset != c.offset || pos != c.pos {
			t.Errorf("%d: got %d, %d, %v, want %d, %d", c.target, offset, pos, err, c.offset, c.pos)
		}
	}
	if offset, pos, err := x.last(); err != nil || offset != 3829 || pos != 1_043_242 {
		t.Errorf("last: %d, %d, %v", offset, pos, err)
	}
	if !x.isFull() {
		t.Error("a sealed index has room")
	}
	if err := x.append(4000, 2_000_000); !errors.Is(err, errIndexFull) {
		t.Errorf("append to a sealed index: %v", err)
	}
}

// TestOffsetIndexLazy: nothing is opened or created before it is needed.
func TestOffsetIndexLazy(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openOffsetIndex(fsys, "/d/x.index", 7, 403)
	if offset, pos, err := x.lookup(100); err != nil || offset != 7 || pos != 0 {
		t.Errorf("lookup: %d, %d, %v", offset, pos, err)
	}
	must(t, x.sync(), x.truncateTo(0))
	if _, err := fsys.Stat("/d/x.index"); err == nil {
		t.Error("looking into an index created its file")
	}
	must(t, x.ensure())
	if size := sizeOf(t, fsys, "/d/x.index"); size != 400 {
		t.Errorf("file of %d bytes", size)
	}
	for i := range 50 {
		if x.isFull() {
			t.Fatalf("full with %d entries", i)
		}
		must(t, x.append(7+int64(i), int32(i)))
	}
	if !x.isFull() {
		t.Error("not full with 50 entries")
	}
	if err := x.append(1000, 1000); !errors.Is(err, errIndexFull) {
		t.Errorf("append: %v", err)
	}
}

func TestOffsetIndexRefuses(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openOffsetIndex(fsys, "/d/x.index", 1000, fullIndex)
	for offset, want := range map[int64]error{
		999: errIndexOverflow, 1000 + math.MaxInt32 + 1: errIndexOverflow, math.MaxInt64: errIndexOverflow, math.MinInt64: errIndexOverflow,
	} {
		if err := x.append(offset, 5); !errors.Is(err, want) {
			t.Errorf("%d: %v", offset, err)
		}
	}
	must(t, x.append(1010, 5))
	for _, offset := range []int64{1010, 1009, 999} {
		if err := x.append(offset, 6); !errors.Is(err, errIndexOrder) {
			t.Errorf("%d after 1010: %v", offset, err)
		}
	}
	must(t, x.append(1000+math.MaxInt32, 6))
}

// TestOffsetIndexMatchesModel holds all look-ups against a plain search, over
// sizes at which the newest entries leave memory and the search changes from
// the newest entries to the rest.
func TestOffsetIndexMatchesModel(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1024, 1025, 1026, 2048, 2049, 5000} {
		for _, sealed := range []bool{false, true} {
			t.Run(fmt.Sprint(n, sealed), func(t *testing.T) { matchModel(t, n, sealed) })
		}
	}
}

type modelEntry struct {
	offset int64
	pos    int32
}

func matchModel(t *testing.T, n int, sealed bool) {
	const base = 500
	fsys, _ := memFile(t, "other", nil)
	x := openOffsetIndex(fsys, "/d/x.index", base, fullIndex)
	entries := make([]modelEntry, n)
	offset, pos := int64(base), int32(0)
	for i := range entries {
		offset += 1 + rand.Int64N(10)
		pos += 1 + rand.Int32N(5000)
		entries[i] = modelEntry{offset, pos}
		must(t, x.append(offset, pos))
	}
	if sealed {
		must(t, x.trim())
	}
	for range 300 {
		target := base - 5 + rand.Int64N(offset-base+10)
		want := modelEntry{base, 0}
		for _, e := range entries {
			if e.offset <= target {
				want = e
			}
		}
		if got, at, err := x.lookup(target); err != nil || (modelEntry{got, at}) != want {
			t.Fatalf("lookup %d: got %d, %d, %v, want %+v", target, got, at, err, want)
		}
		checkPositions(t, x, entries, rand.Int64N(int64(pos)+10), target)
	}
}

func checkPositions(t *testing.T, x *OffsetIndex, entries []modelEntry, pos, upper int64) {
	t.Helper()
	floor, ceiling, found := int64(0), int64(0), false
	for _, e := range entries {
		if int64(e.pos) <= pos && e.offset < upper {
			floor = int64(e.pos)
		}
		if int64(e.pos) > pos && !found {
			ceiling, found = e.offset, true
		}
	}
	if got, err := x.floorPosition(pos, upper); err != nil || got != floor {
		t.Fatalf("floorPosition(%d, %d): got %d, %v, want %d", pos, upper, got, err, floor)
	}
	if got, ok, err := x.ceilingOffset(pos + 1); err != nil || ok != found || got != ceiling {
		// An entry right at the position may be passed over when the search
		// ends on it, as in Kafka; the next one is then as good a bound.
		if !ok || got < ceiling {
			if !isEntryAt(entries, pos+1) {
				t.Fatalf("ceilingOffset(%d): got %d, %v, %v, want %d, %v", pos+1, got, ok, err, ceiling, found)
			}
		}
	}
}

func isEntryAt(entries []modelEntry, pos int64) bool {
	for _, e := range entries {
		if int64(e.pos) == pos {
			return true
		}
	}
	return false
}

func TestOffsetIndexTruncate(t *testing.T) {
	for _, c := range []struct {
		to   int64
		left int
	}{{0, 0}, {10, 0}, {11, 1}, {20, 1}, {25, 2}, {30, 2}, {31, 3}, {1000, 3}} {
		for _, reopened := range []bool{false, true} {
			fsys, _ := memFile(t, "other", nil)
			x := openOffsetIndex(fsys, "/d/x.index", 0, 80)
			for i := range int64(3) {
				must(t, x.append(10*(i+1), int32(100*(i+1))))
			}
			if reopened {
				must(t, x.trim())
				x = openOffsetIndex(fsys, "/d/x.index", 0, 80)
				must(t, x.resizeFull())
			}
			must(t, x.truncateTo(c.to))
			if n, err := x.entries(); err != nil || n != c.left {
				t.Errorf("truncate to %d: %d entries left, %v", c.to, n, err)
			}
			must(t, x.append(2000, 5000), x.trim())
			want := binary.BigEndian.AppendUint64(nil, 2000<<32|5000)
			if got := readAll(t, fsys, "/d/x.index"); len(got) != 8*(c.left+1) || !bytes.HasSuffix(got, want) {
				t.Errorf("truncate to %d, append: %x", c.to, got)
			}
		}
	}
}

// TestIndexDamages: a damaged file of a sealed segment is used as it is found.
func TestIndexDamages(t *testing.T) {
	name := segmentFileName(0, indexSuffix)
	good := golden(t, "ex1/"+name)
	for _, c := range []struct {
		name    string
		data    []byte
		entries int
		lookup  int64 // position for offset 3829
	}{
		{"short", good[:101], 12, 65544},
		{"empty", nil, 0, 0},
		{"zeros", make([]byte, len(good)), 191, 0},
		{"one byte", []byte{1}, 0, 0},
	} {
		fsys, path := memFile(t, name, c.data)
		x := openOffsetIndex(fsys, path, 0, fullIndex)
		n, err := x.entries()
		_, pos, lookupErr := x.lookup(3829)
		if err != nil || lookupErr != nil || n != c.entries || int64(pos) != c.lookup {
			t.Errorf("%s: %d entries, %v, position %d, %v", c.name, n, err, pos, lookupErr)
		}
	}
}

func TestIndexResizeAndReset(t *testing.T) {
	name := segmentFileName(11490, indexSuffix)
	good := golden(t, "ex1/"+name)
	fsys, path := memFile(t, name, good)
	x := openOffsetIndex(fsys, path, 11490, fullIndex)
	must(t, x.resizeFull())
	if n, err := x.entries(); err != nil || n != 25 || sizeOf(t, fsys, path) != fullIndex {
		t.Errorf("resized: %d entries, %v", n, err)
	}
	must(t, x.trim())
	if got := readAll(t, fsys, path); !bytes.Equal(got, good) {
		t.Error("resize and trim changed the entries")
	}
	must(t, x.reset())
	if n, err := x.entries(); err != nil || n != 0 || sizeOf(t, fsys, path) != fullIndex {
		t.Errorf("reset: %d entries, %v", n, err)
	}
	must(t, x.trim())
	if size := sizeOf(t, fsys, path); size != 0 {
		t.Errorf("trimmed to %d bytes", size)
	}
	must(t, x.close(), x.close())
	if _, _, err := x.lookup(1); !errors.Is(err, errSegmentGone) {
		t.Errorf("lookup in a closed index: %v", err)
	}
	if err := x.append(1, 1); !errors.Is(err, errSegmentGone) {
		t.Errorf("append to a closed index: %v", err)
	}
}

// TestOffsetIndexWriteError: an entry that was not written is not there.
func TestOffsetIndexWriteError(t *testing.T) {
	full := errors.New("disk full")
	failing := false
	mem, _ := memFile(t, "other", nil)
	x := openOffsetIndex(vfs.NewFaulty(mem, func(op vfs.Op) error {
		if failing && op.Kind == vfs.OpWrite {
			return full
		}
		return nil
	}), "/d/x.index", 0, 80)
	must(t, x.append(10, 100))
	failing = true
	if err := x.append(20, 200); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	failing = false
	if offset, _, err := x.last(); err != nil || offset != 10 {
		t.Errorf("last entry is %d, %v", offset, err)
	}
	must(t, x.append(15, 150))
}

// TestOffsetIndexConcurrent looks up while entries come, the tail is moved,
// and the index is parked, synced and sealed.
func TestOffsetIndexConcurrent(t *testing.T) {
	const n = 6000
	x := openOffsetIndex(vfs.OS(), t.TempDir()+"/x.index", 0, fullIndex)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				last, _, err := x.last()
				if err != nil {
					t.Error(err)
					return
				}
				target := rand.Int64N(last + 10)
				offset, pos, err := x.lookup(target)
				if err != nil || offset != min(target, n)/2*2 && offset < last || int64(pos) != offset*100 {
					t.Errorf("lookup %d: %d, %d, %v", target, offset, pos, err)
					return
				}
			}
		})
	}
	for i := int64(1); i <= n/2; i++ {
		must(t, x.append(2*i, int32(200*i)))
		if i%1000 == 0 {
			must(t, x.park(), x.sync())
		}
	}
	must(t, x.trim())
	close(stop)
	readers.Wait()
	must(t, x.close())
}

func FuzzOffsetIndex(f *testing.F) {
	f.Add(golden(f, "ex1/"+segmentFileName(11490, indexSuffix)), int64(11500))
	f.Add(make([]byte, 99), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, target int64) {
		fsys, path := memFile(t, "x.index", data)
		x := openOffsetIndex(fsys, path, 0, fullIndex)
		offset, _, err := x.lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		ascending := true
		for i := offsetEntrySize; i+offsetEntrySize <= len(data); i += offsetEntrySize {
			ascending = ascending && entryOffset(data[i:]) > entryOffset(data[i-offsetEntrySize:])
		}
		if ascending && offset > max(target, 0) {
			t.Errorf("lookup %d gave %d", target, offset)
		}
		if _, _, err := x.ceilingOffset(target); err != nil {
			t.Fatal(err)
		}
		if _, err := x.floorPosition(target, target); err != nil {
			t.Fatal(err)
		}
		must(t, x.truncateTo(target), x.trim())
		if n, err := x.entries(); err != nil || sizeOf(t, fsys, path) != int64(n)*offsetEntrySize {
			t.Errorf("%d entries, %v", n, err)
		}
	})
}
