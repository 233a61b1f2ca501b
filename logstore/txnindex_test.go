package logstore

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestTxnIndexGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		base int64
	}{{"txn/00000000000000000000.txnindex", 0}, {"txn/00000000000000000014.txnindex", 14}, {"interleaved/00000000000000000000.txnindex", 0}} {
		want := golden(t, c.name)
		fsys, path := memFile(t, "x.txnindex", want)
		x := openTxnIndex(fsys, path, c.base)
		must(t, x.sanityCheck())
		all, complete, err := x.collect(0, math.MaxInt64)
		if err != nil || complete || len(all) != len(want)/abortedEntrySize {
			t.Fatalf("%s: %v, %v, %v", c.name, all, complete, err)
		}
		y := openTxnIndex(fsys, "/d/y.txnindex", c.base)
		for _, a := range all {
			must(t, y.append(a))
		}
		if got := readAll(t, fsys, "/d/y.txnindex"); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", c.name, got, want)
		}
	}
}

// TestTxnIndexLazy: most segments never have the file.
func TestTxnIndexLazy(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openTxnIndex(fsys, "/d/x.txnindex", 0)
	found, complete, err := x.collect(0, 100)
	must(t, err, x.sanityCheck(), x.reset(), x.truncateTo(0), x.sync())
	if len(found) != 0 || complete {
		t.Errorf("found %v, %v", found, complete)
	}
	if _, err := fsys.Stat("/d/x.txnindex"); err == nil {
		t.Error("the file was created")
	}
	must(t, x.append(AbortedTxn{1, 0, 5, 6}))
	if size := sizeOf(t, fsys, "/d/x.txnindex"); size != abortedEntrySize {
		t.Errorf("%d bytes", size)
	}
	must(t, x.reset())
	if size := sizeOf(t, fsys, "/d/x.txnindex"); size != 0 {
		t.Errorf("%d bytes after a reset", size)
	}
	must(t, x.close())
	if _, _, err := x.collect(0, 1); !errors.Is(err, errSegmentGone) {
		t.Errorf("collect after close: %v", err)
	}
}

func TestTxnIndexCollect(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openTxnIndex(fsys, "/d/x.txnindex", 0)
	all := []AbortedTxn{{1, 0, 10, 3}, {2, 3, 20, 21}, {3, 25, 30, 31}}
	for _, a := range all {
		must(t, x.append(a))
	}
	for _, c := range []struct {
		fetch, upper int64
		want         []AbortedTxn
		complete     bool
	}{
		{0, 100, all, false},
		{11, 100, all[1:], false},
		{31, 100, nil, false},
		{0, 3, all[:1], true},
		{0, 4, all[:2], true},
		{0, 21, all[:2], true},
		{0, 22, all[:2], true},
		{0, 26, all, true},
	} {
		got, complete, err := x.collect(c.fetch, c.upper)
		if err != nil || complete != c.complete || !slices.Equal(got, c.want) {
			t.Errorf("[%d, %d): got %v, %v, %v", c.fetch, c.upper, got, complete, err)
		}
	}
	if err := x.append(AbortedTxn{4, 26, 30, 40}); !errors.Is(err, errIndexOrder) {
		t.Errorf("a marker that does not follow: %v", err)
	}
	// The order holds across a restart too.
	again := openTxnIndex(fsys, "/d/x.txnindex", 0)
	if err := again.append(AbortedTxn{4, 26, 30, 40}); !errors.Is(err, errIndexOrder) {
		t.Errorf("a marker that does not follow, reopened: %v", err)
	}
}

// TestTxnIndexLarge reads more entries than one read holds.
func TestTxnIndexLarge(t *testing.T) {
	fsys, _ := memFile(t, "other", nil)
	x := openTxnIndex(fsys, "/d/x.txnindex", 0)
	for i := range int64(500) {
		must(t, x.append(AbortedTxn{i, 10 * i, 10*i + 5, 10*i + 6}))
	}
	got, complete, err := x.collect(2001, 4001)
	if err != nil || !complete || len(got) != 201 || got[0].ProducerID != 200 || got[200].ProducerID != 400 {
		t.Errorf("%d found, %v, %v", len(got), complete, err)
	}
}

func TestTxnIndexTruncate(t *testing.T) {
	for to, left := range map[int64]int{0: 0, 10: 0, 11: 1, 20: 1, 21: 2, 99: 2} {
		fsys, _ := memFile(t, "other", nil)
		x := openTxnIndex(fsys, "/d/x.txnindex", 0)
		must(t, x.append(AbortedTxn{1, 0, 10, 11}), x.append(AbortedTxn{2, 0, 20, 21}), x.truncateTo(to))
		all, _, err := x.collect(0, 1000)
		if err != nil || len(all) != left || sizeOf(t, fsys, "/d/x.txnindex") != int64(left)*abortedEntrySize {
			t.Errorf("truncate to %d: %v, %v", to, all, err)
		}
		if left < 2 {
			must(t, x.append(AbortedTxn{3, 0, max(to, 11), 30}))
		}
	}
}

func TestTxnIndexDamages(t *testing.T) {
	good := golden(t, "txn/00000000000000000014.txnindex")
	versioned := bytes.Clone(good)
	versioned[abortedEntrySize+1] = 9
	for _, c := range []struct {
		name  string
		data  []byte
		base  int64
		want  error // of the check
		found int
	}{
		{"good", good, 14, nil, 2},
		{"garbage behind", append(bytes.Clone(good), 1, 2, 3), 14, nil, 2},
		{"too short", good[:33], 14, nil, 0},
		{"empty", nil, 14, nil, 0},
		{"of another segment", good, 1000, ErrCorruptIndex, 2},
		{"version", versioned, 14, ErrVersion, -1},
	} {
		fsys, path := memFile(t, "x.txnindex", c.data)
		x := openTxnIndex(fsys, path, c.base)
		err := x.sanityCheck()
		var corrupt *CorruptError
		if !errors.Is(err, c.want) || (c.want != nil && !errors.As(err, &corrupt)) {
			t.Errorf("%s: check says %v", c.name, err)
		}
		found, _, err := x.collect(0, math.MaxInt64)
		if c.found < 0 {
			if !errors.As(err, &corrupt) || corrupt.Offset != abortedEntrySize {
				t.Errorf("%s: collect says %v", c.name, err)
			}
		} else if err != nil || len(found) != c.found {
			t.Errorf("%s: found %v, %v", c.name, found, err)
		}
	}
}
