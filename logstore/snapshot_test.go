package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"testing"
	"time"

	"minibroker/internal/vfs"
)

var goldenSnapshots = []string{
	"txn/00000000000000000014.snapshot", "txn/00000000000000000031.snapshot",
	"idempotent/00000000000000000006.snapshot", "idempotent/00000000000000000021.snapshot",
	"snapshots/00000000000000000019.snapshot", "interleaved/00000000000000000011.snapshot",
}

func TestSnapshotGolden(t *testing.T) {
	for _, name := range goldenSnapshots {
		want := golden(t, name)
		entries, err := decodeSnapshot(name, want)
		if err != nil {
			t.Fatal(err)
		}
		if got := encodeSnapshot(entries); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", name, got, want)
		}
	}
}

func TestSnapshotEmpty(t *testing.T) {
	if got := fmt.Sprintf("%x", encodeSnapshot(nil)); got != "000148674bc700000000" {
		t.Error(got)
	}
}

// resum renews the checksum, so that what is behind it is looked at.
func resum(b []byte) []byte {
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[snapshotCRCFrom:], castagnoliTable))
	return b
}

func TestSnapshotDamages(t *testing.T) {
	good := golden(t, goldenSnapshots[0])
	edit := func(fn func(b []byte) []byte) []byte { return fn(bytes.Clone(good)) }
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":         {nil, ErrMalformed},
		"short head":    {good[:9], ErrMalformed},
		"torn":          {good[:len(good)-1], ErrChecksum},
		"torn, summed":  {resum(edit(func(b []byte) []byte { return b[:len(b)-1] })), ErrMalformed},
		"grown, summed": {resum(append(bytes.Clone(good), 0)), ErrMalformed},
		"version":       {edit(func(b []byte) []byte { b[1] = 2; return b }), ErrVersion},
		"flipped bit":   {edit(func(b []byte) []byte { b[20] ^= 1; return b }), ErrChecksum},
		"huge count":    {resum(edit(func(b []byte) []byte { b[6] = 0x7f; return b })), ErrMalformed},
		"minus count":   {resum(edit(func(b []byte) []byte { b[6] = 0xff; return b })), ErrMalformed},
	} {
		entries, err := decodeSnapshot("f", c.data)
		var corrupt *CorruptError
		if !errors.Is(err, c.want) || !errors.As(err, &corrupt) || corrupt.File != "f" {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

// stateIn opens a producer state in a directory with these snapshot files.
func stateIn(t *testing.T, files map[int64][]byte) (*ProducerState, vfs.FS) {
	t.Helper()
	fsys, _ := memFile(t, "other", nil)
	for offset, data := range files {
		must(t, vfs.WriteFileAtomic(fsys, "/d/"+segmentFileName(offset, snapshotSuffix), data, 0o644))
	}
	p, err := openProducerState(fsys, "/d", nil, 1<<62)
	must(t, err)
	return p, fsys
}

func snapshotFiles(t *testing.T, fsys vfs.FS) (offsets []int64) {
	t.Helper()
	entries, err := fsys.ReadDir("/d")
	must(t, err)
	for _, e := range entries {
		if base, suffix, ok := parseSegmentFileName(e.Name()); ok && suffix == snapshotSuffix {
			offsets = append(offsets, base)
		}
	}
	return offsets
}

func TestRemoveStraySnapshots(t *testing.T) {
	empty := encodeSnapshot(nil)
	for _, c := range []struct{ have, bases, want []int64 }{
		{[]int64{5000, 6000, 7660, 11490, 99999}, []int64{0, 7660, 11490}, []int64{7660, 11490, 99999}},
		{[]int64{5000, 7660}, []int64{0, 7660, 11490}, []int64{7660}},
		{[]int64{3830, 7660, 11490}, []int64{0, 3830, 7660}, []int64{3830, 7660, 11490}},
		{[]int64{3830, 11490, 12000}, []int64{3830, 7660, 11490}, []int64{3830, 11490, 12000}},
		{[]int64{10, 20}, nil, []int64{20}},
		{nil, []int64{0}, nil},
	} {
		files := make(map[int64][]byte)
		for _, offset := range c.have {
			files[offset] = empty
		}
		p, fsys := stateIn(t, files)
		must(t, p.removeStraySnapshots(c.bases))
		if got := snapshotFiles(t, fsys); fmt.Sprint(got) != fmt.Sprint(c.want) || fmt.Sprint(p.snapshots) != fmt.Sprint(c.want) {
			t.Errorf("%v beside segments %v: left %v (%v known), want %v", c.have, c.bases, got, p.snapshots, c.want)
		}
	}
}

func TestTruncateAndReload(t *testing.T) {
	good, empty := golden(t, goldenSnapshots[0]), encodeSnapshot(nil)
	all := map[int64][]byte{10: good, 20: empty, 30: good}
	torn := map[int64][]byte{10: good, 20: good[:20], 30: nil}
	for _, c := range []struct {
		name       string
		files      map[int64][]byte
		start, end int64
		at         int64
		producers  int
		left       []int64
	}{
		{"newest", all, 0, 35, 30, 2, []int64{10, 20, 30}},
		{"at the end", all, 0, 30, 30, 2, []int64{10, 20, 30}},
		{"beyond the end go", all, 0, 29, 20, 0, []int64{10, 20}},
		{"below the start go", all, 10, 15, 10, 0, nil},
		{"corrupt go", torn, 0, 35, 10, 2, []int64{10}},
		{"none", nil, 7, 35, 7, 0, nil},
	} {
		p, fsys := stateIn(t, c.files)
		must(t, p.truncateAndReload(c.start, c.end, time.Now()))
		if p.mapEndOffset() != c.at || len(p.producers) != c.producers || fmt.Sprint(snapshotFiles(t, fsys)) != fmt.Sprint(c.left) {
			t.Errorf("%s: state at %d with %d producers, files %v", c.name, p.mapEndOffset(), len(p.producers), snapshotFiles(t, fsys))
		}
		if _, _, written, err := p.takeSnapshot(true); written || err != nil {
			t.Errorf("%s: the state just loaded was written again, %v", c.name, err)
		}
	}
}

func TestReloadExpires(t *testing.T) {
	p, _ := stateIn(t, map[int64][]byte{31: golden(t, "txn/00000000000000000031.snapshot")})
	entries, err := decodeSnapshot("", golden(t, "txn/00000000000000000031.snapshot"))
	must(t, err)
	newest, open := int64(0), 0
	for _, e := range entries {
		newest = max(newest, e.lastTimestamp)
		if e.inTransaction() {
			open++
		}
	}
	p.expirationMs = 1000
	must(t, p.truncateAndReload(0, 31, time.UnixMilli(newest+1000)))
	if len(p.producers) != open || open == 0 {
		t.Errorf("%d producers left, want the %d with an open transaction", len(p.producers), open)
	}
	if _, ok := p.firstUnstableOffset(); !ok {
		t.Error("the open transaction is not known")
	}
}

func TestSnapshotLife(t *testing.T) {
	p, fsys := stateIn(t, nil)
	if _, _, written, err := p.takeSnapshot(true); written || err != nil {
		t.Errorf("snapshot at 0: %v, %v", written, err)
	}
	p.updateMapEndOffset(12)
	offset, count, written, err := p.takeSnapshot(false)
	if offset != 12 || count != 0 || !written || err != nil {
		t.Errorf("snapshot at %d, %d producers, %v, %v", offset, count, written, err)
	}
	must(t, p.syncSnapshot(12))
	renamed, err := p.markSnapshotDeleted(12)
	if err != nil || renamed != "/d/00000000000000000012.snapshot.deleted" {
		t.Errorf("renamed to %q, %v", renamed, err)
	}
	if _, err := fsys.Stat(renamed); err != nil {
		t.Error(err)
	}
	if renamed, err := p.markSnapshotDeleted(12); err != nil || renamed != "" {
		t.Errorf("a second time: %q, %v", renamed, err)
	}
	if err := p.syncSnapshot(12); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of a snapshot that is gone: %v", err)
	}
	p.updateMapEndOffset(20)
	_, _, _, err = p.takeSnapshot(true)
	must(t, err, p.truncateFullyAndStartAt(99))
	if got := snapshotFiles(t, fsys); len(got) != 0 || p.mapEndOffset() != 99 {
		t.Errorf("left %v, state at %d", got, p.mapEndOffset())
	}
}

func FuzzSnapshot(f *testing.F) {
	for _, name := range goldenSnapshots {
		f.Add(golden(f, name))
	}
	f.Add(encodeSnapshot(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeSnapshot("f", data); err != nil {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatal(err)
			}
		}
		if len(data) < snapshotHeadSize {
			return
		}
		data = resum(bytes.Clone(data))
		entries, err := decodeSnapshot("f", data)
		if err != nil {
			return
		}
		again, err := decodeSnapshot("f", encodeSnapshot(entries))
		if err != nil || !bytes.Equal(encodeSnapshot(again), encodeSnapshot(entries)) {
			t.Fatalf("%v became %v, %v", entries, again, err)
		}
		p := &ProducerState{expirationMs: 1 << 62}
		p.loadEntries(entries, time.UnixMilli(0))
	})
}
