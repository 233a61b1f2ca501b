package logstore

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

const fullTimeIndex = 10_485_756

func TestTimeIndexGolden(t *testing.T) {
	for _, base := range []int64{0, 11490} {
		name := segmentFileName(base, timeIndexSuffix)
		want := golden(t, "ex1/"+name)
		fsys, _ := memFile(t, "other", nil)
		x := openTimeIndex(fsys, "/d/"+name, base, fullIndex)
		for e := want; len(e) > 0; e = e[timeEntrySize:] {
			must(t, x.maybeAppend(entryTimestamp(e), base+entryTimeOffset(e), false))
			// A timestamp that is not greater adds nothing.
			must(t, x.maybeAppend(entryTimestamp(e), base+entryTimeOffset(e)+1, false))
		}
		if size := sizeOf(t, fsys, "/d/"+name); size != fullTimeIndex {
			t.Errorf("%s is active with %d bytes", name, size)
		}
		must(t, x.trim())
		if got := readAll(t, fsys, "/d/"+name); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", name, got, want)
		}
	}
}

func TestTimeIndexLookupGolden(t *testing.T) {
	const t0 = 1_700_000_000_000
	name := segmentFileName(0, timeIndexSuffix)
	fsys, path := memFile(t, name, golden(t, "ex1/"+name))
	x := openTimeIndex(fsys, path, 0, fullIndex)
	for _, c := range []struct{ target, ts, offset int64 }{
		{t0, -1, 0}, {t0 + 48, -1, 0}, {t0 + 49, t0 + 49, 29}, {t0 + 88, t0 + 49, 29}, {t0 + 89, t0 + 89, 49}, {t0 + 129, t0 + 129, 69}, {math.MinInt64, -1, 0},
	} {
		if ts, offset, err := x.lookup(c.target); err != nil || ts != c.ts || offset != c.offset {
			t.Errorf("%d: got %d, %d, %v, want %d, %d", c.target, ts, offset, err, c.ts, c.offset)
		}
	}
	lastTs, lastOffset, err := x.lastEntry()
	if ts, offset, lookupErr := x.lookup(math.MaxInt64); err != nil || lookupErr != nil || ts != lastTs || offset != lastOffset || offset != 3829 {
		t.Errorf("last: %d, %d, %v and %d, %d, %v", lastTs, lastOffset, err, ts, offset, lookupErr)
	}
}

// TestTimeIndexFull: one slot is kept for the entry written at the end of the
// segment.
func TestTimeIndexFull(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openTimeIndex(fsys, "/d/x.timeindex", 0, 40)
	must(t, x.maybeAppend(noTimestamp, 3, false))
	if n, err := x.entries(); err != nil || n != 0 {
		t.Fatalf("no timestamp made %d entries, %v", n, err)
	}
	must(t, x.maybeAppend(10, 1, false), x.maybeAppend(20, 2, false))
	if !x.isFull() {
		t.Error("room for more than the last entry")
	}
	if err := x.maybeAppend(30, 3, false); !errors.Is(err, errIndexFull) {
		t.Errorf("full: %v", err)
	}
	must(t, x.maybeAppend(30, 3, true))
	if err := x.maybeAppend(40, 4, true); !errors.Is(err, errIndexFull) {
		t.Errorf("no slot at all: %v", err)
	}
	if ts, offset, err := x.lastEntry(); err != nil || ts != 30 || offset != 3 {
		t.Errorf("last: %d, %d, %v", ts, offset, err)
	}
}

func TestTimeIndexRefuses(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openTimeIndex(fsys, "/d/x.timeindex", 100, fullIndex)
	if err := x.maybeAppend(5, 99, false); !errors.Is(err, errIndexOverflow) {
		t.Errorf("below the base: %v", err)
	}
	must(t, x.maybeAppend(50, 110, false))
	for _, c := range []struct{ ts, offset int64 }{{49, 111}, {60, 109}} {
		if err := x.maybeAppend(c.ts, c.offset, false); !errors.Is(err, errIndexOrder) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	must(t, x.maybeAppend(60, 110, false))
}

func TestTimeIndexTruncate(t *testing.T) {
	for _, c := range []struct {
		to   int64
		left int
	}{{5, 0}, {10, 0}, {11, 1}, {20, 1}, {21, 2}, {100, 2}} {
		fsys, _ := memFile(t, "other", nil)
		x := openTimeIndex(fsys, "/d/x.timeindex", 0, 120)
		must(t, x.maybeAppend(1000, 10, false), x.maybeAppend(2000, 20, false), x.truncateTo(c.to))
		if n, err := x.entries(); err != nil || n != c.left {
			t.Errorf("truncate to %d: %d entries left, %v", c.to, n, err)
		}
	}
}

func TestTimeIndexCreateEmpty(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openTimeIndex(fsys, "/d/x.timeindex", 42, fullIndex)
	must(t, x.createEmpty())
	if size := sizeOf(t, fsys, "/d/x.timeindex"); size != 0 {
		t.Errorf("%d bytes", size)
	}
	if ts, offset, err := x.lookup(5); err != nil || ts != -1 || offset != 42 {
		t.Errorf("lookup: %d, %d, %v", ts, offset, err)
	}
	must(t, x.resizeFull(), x.maybeAppend(5, 43, false))
}

func FuzzTimeIndex(f *testing.F) {
	f.Add(golden(f, "ex1/"+segmentFileName(11490, timeIndexSuffix)), int64(1_700_000_011_600))
	f.Add(make([]byte, 99), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, target int64) {
		fsys, path := memFile(t, "x.timeindex", data)
		x := openTimeIndex(fsys, path, 0, fullIndex)
		ts, _, err := x.lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		ascending := true
		for i := timeEntrySize; i+timeEntrySize <= len(data); i += timeEntrySize {
			ascending = ascending && entryTimestamp(data[i:]) > entryTimestamp(data[i-timeEntrySize:])
		}
		if ascending && ts > max(target, noTimestamp) {
			t.Errorf("lookup %d gave %d", target, ts)
		}
		if _, _, err := x.lastEntry(); err != nil {
			t.Fatal(err)
		}
		must(t, x.truncateTo(target), x.trim())
		if n, err := x.entries(); err != nil || sizeOf(t, fsys, path) != int64(n)*timeEntrySize {
			t.Errorf("%d entries, %v", n, err)
		}
	})
}
