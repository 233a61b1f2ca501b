package logstore

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// damaged is a data directory with the log seg-0 of case ex1: 12,000 records
// in segments 0, 3830, 7660 and 11490, ten to a batch of 2,731 bytes.
type damaged struct {
	t   *testing.T
	top string
	dir string // the partition's
}

const damagedBatch = 2731

func (d damaged) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func seg(base int64, suffix string) string { return segmentFileName(base, suffix) }

func (d damaged) path(name string) string { return filepath.Join(d.dir, name) }

func (d damaged) read(name string) []byte {
	b, err := os.ReadFile(d.path(name))
	d.check(err)
	return b
}

func (d damaged) write(name string, b []byte) { d.check(os.WriteFile(d.path(name), b, 0o644)) }

func (d damaged) topFile(name, text string) {
	d.check(os.WriteFile(filepath.Join(d.top, name), []byte(text), 0o644))
}

func (d damaged) size(name string, n int64) { d.check(os.Truncate(d.path(name), n)) }

func (d damaged) cut(name string, n int64) {
	info, err := os.Stat(d.path(name))
	d.check(err)
	d.size(name, info.Size()-n)
}

func (d damaged) grow(name string, b []byte) { d.write(name, append(d.read(name), b...)) }

func (d damaged) flip(name string, at int) {
	b := d.read(name)
	b[at] ^= 0xff
	d.write(name, b)
}

func (d damaged) remove(names ...string) {
	for _, name := range names {
		d.check(os.Remove(d.path(name)))
	}
}

func (d damaged) copy(from, to string) { d.write(to, d.read(from)) }

func (d damaged) segmentCopies(from int64, suffix string) {
	for _, s := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
		d.copy(seg(from, s), seg(from, s+suffix))
	}
}

func (d damaged) removeSegments(bases ...int64) {
	for _, base := range bases {
		d.remove(seg(base, logSuffix), seg(base, indexSuffix), seg(base, timeIndexSuffix))
		if base > 0 {
			d.remove(seg(base, snapshotSuffix))
		}
	}
}

// damages are the ways in which a directory is spoiled, by the names of
// testdata/golden/recovery.txt.
var damages = map[string]func(d damaged){
	"none":             func(damaged) {},
	"torn-tail":        func(d damaged) { d.cut(seg(11490, ".log"), 1000) },
	"torn-header":      func(d damaged) { d.size(seg(11490, ".log"), 50*damagedBatch+30) },
	"torn-length":      func(d damaged) { d.size(seg(11490, ".log"), 50*damagedBatch+10) },
	"zero-tail":        func(d damaged) { d.grow(seg(11490, ".log"), make([]byte, 4096)) },
	"garbage-tail":     func(d damaged) { d.grow(seg(11490, ".log"), bytes.Repeat([]byte{0xa5}, 1000)) },
	"huge-length-tail": hugeLengthTail,
	"crc-active":       func(d damaged) { d.flip(seg(11490, ".log"), 25*damagedBatch+500) },
	"crc-sealed":       func(d damaged) { d.flip(seg(3830, ".log"), 100*damagedBatch+500) },
	"crc-above-recovery-point": func(d damaged) {
		d.topFile(recoveryPointCheckpoint, "0\n1\nseg 0 3830\n")
		d.flip(seg(3830, ".log"), 100*damagedBatch+500)
	},
	"recovery-point-inside": func(d damaged) {
		d.topFile(recoveryPointCheckpoint, "0\n1\nseg 0 5000\n")
		d.flip(seg(3830, ".log"), 500)
	},
	"duplicate-batch":          func(d damaged) { d.grow(seg(11490, ".log"), d.read(seg(11490, ".log"))[:damagedBatch]) },
	"foreign-batch":            func(d damaged) { d.grow(seg(11490, ".log"), d.read(seg(0, ".log"))[:damagedBatch]) },
	"index-short-active":       func(d damaged) { d.size(seg(11490, ".index"), 1001) },
	"index-short-sealed":       func(d damaged) { d.size(seg(0, ".index"), 1001) },
	"index-wrong-sealed":       func(d damaged) { d.write(seg(0, ".index"), bytes.Repeat([]byte{0xff}, 1528)) },
	"index-zero-sealed":        func(d damaged) { d.write(seg(0, ".index"), make([]byte, 1528)) },
	"index-empty-sealed":       func(d damaged) { d.size(seg(0, ".index"), 0) },
	"index-missing-sealed":     func(d damaged) { d.remove(seg(3830, ".index")) },
	"index-missing-active":     func(d damaged) { d.remove(seg(11490, ".index")) },
	"timeindex-missing-sealed": func(d damaged) { d.remove(seg(3830, ".timeindex")) },
	"timeindex-missing-active": func(d damaged) { d.remove(seg(11490, ".timeindex")) },
	"timeindex-short-sealed":   func(d damaged) { d.size(seg(0, ".timeindex"), 1000) },
	"timeindex-wrong-sealed":   func(d damaged) { d.write(seg(0, ".timeindex"), bytes.Repeat([]byte{0xff}, 2292)) },
	"txnindex-garbage-sealed":  func(d damaged) { d.write(seg(0, ".txnindex"), make([]byte, 50)) },
	"txnindex-bad-sealed":      func(d damaged) { d.write(seg(3830, ".txnindex"), make([]byte, 34)) },
	"snapshot-missing":         func(d damaged) { d.remove(seg(11490, ".snapshot")) },
	"snapshot-missing-all": func(d damaged) {
		d.remove(seg(3830, ".snapshot"), seg(7660, ".snapshot"), seg(11490, ".snapshot"))
	},
	"snapshot-corrupt": func(d damaged) { d.flip(seg(11490, ".snapshot"), 8) },
	"snapshot-empty":   func(d damaged) { d.size(seg(11490, ".snapshot"), 0) },
	"snapshot-extra": func(d damaged) {
		for _, at := range []int64{5000, 6000, 99999} {
			d.copy(seg(3830, ".snapshot"), seg(at, ".snapshot"))
		}
	},
	"orphan-index": func(d damaged) {
		d.write(seg(20000, ".index"), make([]byte, 80))
		d.write(seg(20000, ".timeindex"), make([]byte, 120))
		d.write(seg(20000, ".txnindex"), make([]byte, 34))
	},
	"empty-next-segment": func(d damaged) { d.write(seg(12000, ".log"), nil) },
	"deleted-left": func(d damaged) {
		d.segmentCopies(0, deletedSuffix)
		d.copy(seg(3830, ".snapshot"), seg(0, ".snapshot.deleted"))
	},
	"cleaned-left": func(d damaged) { d.segmentCopies(0, cleanedSuffix) },
	"swap-alone": func(d damaged) {
		d.segmentCopies(0, swapSuffix)
		d.remove(seg(0, ".log"), seg(0, ".index"), seg(0, ".timeindex"))
	},
	"swap-beside": func(d damaged) {
		d.segmentCopies(0, swapSuffix)
		d.size(seg(0, ".log.swap"), 100*damagedBatch)
	},
	"swap-index-only": func(d damaged) { d.copy(seg(0, ".index"), seg(0, ".index.swap")) },
	"swap-and-cleaned": func(d damaged) {
		d.segmentCopies(3830, swapSuffix)
		d.segmentCopies(0, cleanedSuffix)
	},
	"swap-before-cleaned": func(d damaged) {
		d.segmentCopies(0, swapSuffix)
		d.segmentCopies(3830, cleanedSuffix)
	},
	"recovery-point-missing":     func(d damaged) { d.check(os.Remove(filepath.Join(d.top, recoveryPointCheckpoint))) },
	"recovery-point-corrupt":     func(d damaged) { d.topFile(recoveryPointCheckpoint, "hello\n") },
	"recovery-point-beyond":      func(d damaged) { d.topFile(recoveryPointCheckpoint, "0\n1\nseg 0 99999\n") },
	"log-start-corrupt":          func(d damaged) { d.topFile(logStartCheckpoint, "0\n1\nseg 0 x\n") },
	"log-start-wrong-count":      func(d damaged) { d.topFile(logStartCheckpoint, "0\n2\nseg 0 5000\n") },
	"log-start-inside":           func(d damaged) { d.topFile(logStartCheckpoint, "0\n1\nseg 0 5000\n") },
	"log-start-beyond":           func(d damaged) { d.topFile(logStartCheckpoint, "0\n1\nseg 0 99999\n") },
	"hw-missing":                 func(d damaged) { d.check(os.Remove(filepath.Join(d.top, replicationCheckpoint))) },
	"hw-corrupt":                 func(d damaged) { d.topFile(replicationCheckpoint, "hello\n") },
	"leader-epoch-missing":       func(d damaged) { d.remove(leaderEpochCheckpointName) },
	"leader-epoch-empty":         func(d damaged) { d.write(leaderEpochCheckpointName, nil) },
	"leader-epoch-corrupt":       func(d damaged) { d.write(leaderEpochCheckpointName, []byte("hello\n")) },
	"leader-epoch-future":        func(d damaged) { d.write(leaderEpochCheckpointName, []byte("0\n2\n0 0\n1 99999\n")) },
	"partition-metadata-missing": func(d damaged) { d.remove(partitionMetadataName) },
	"partition-metadata-corrupt": func(d damaged) { d.write(partitionMetadataName, []byte("hello\n")) },
	"partition-metadata-other":   func(d damaged) { d.write(partitionMetadataName, []byte(otherTopic)) },
	"lost-first":                 func(d damaged) { d.removeSegments(0) },
	"lost-middle":                func(d damaged) { d.removeSegments(3830) },
	"lost-active":                func(d damaged) { d.removeSegments(11490) },
	"lost-all":                   func(d damaged) { d.removeSegments(0, 3830, 7660, 11490) },
	"lost-directory":             func(d damaged) { d.check(os.RemoveAll(d.dir)) },
	"marker-on-torn": func(d damaged) {
		d.topFile(cleanShutdownName, `{"version":0,"brokerEpoch":5}`)
		d.cut(seg(11490, ".log"), 1000)
	},
	"marker-empty":            func(d damaged) { d.topFile(cleanShutdownName, "") },
	"clean-none":              func(damaged) {},
	"clean-torn-tail":         func(d damaged) { d.cut(seg(11490, ".log"), 1000) },
	"clean-zero-tail":         func(d damaged) { d.grow(seg(11490, ".log"), make([]byte, 4096)) },
	"clean-crc-active":        func(d damaged) { d.flip(seg(11490, ".log"), 25*damagedBatch+500) },
	"clean-index-short":       func(d damaged) { d.size(seg(11490, ".index"), 101) },
	"clean-index-missing":     func(d damaged) { d.remove(seg(11490, ".index")) },
	"clean-timeindex-missing": func(d damaged) { d.remove(seg(11490, ".timeindex")) },
	"clean-snapshots-missing": func(d damaged) {
		d.remove(seg(3830, ".snapshot"), seg(7660, ".snapshot"), seg(11490, ".snapshot"), seg(12000, ".snapshot"))
	},
	"clean-marker-removed": func(d damaged) { d.check(os.Remove(filepath.Join(d.top, cleanShutdownName))) },
	"clean-recovery-point-low": func(d damaged) {
		d.check(os.Remove(filepath.Join(d.top, cleanShutdownName)))
		d.topFile(recoveryPointCheckpoint, "0\n1\nseg 0 0\n")
	},
	"foreign-directory":      func(d damaged) { d.check(os.Mkdir(filepath.Join(d.top, "foreign"), 0o755)) },
	"foreign-partition-name": func(d damaged) { d.check(os.Mkdir(filepath.Join(d.top, "x-y"), 0o755)) },
	"ghost-empty":            func(d damaged) { d.check(os.Mkdir(filepath.Join(d.top, "ghost-0"), 0o755)) },
	"ghost-partition":        func(d damaged) { d.another("ghost-0") },
	"delete-directory":       func(d damaged) { d.another("gone-0.00000000000000000000000000000001-delete") },
}

const otherTopic = "version: 0\ntopic_id: AAAAAAAAQACAAAAAAAAAAQ"

func hugeLengthTail(d damaged) {
	h := make([]byte, 100)
	binary.BigEndian.PutUint64(h, 12000)
	binary.BigEndian.PutUint32(h[8:], 1_000_000)
	h[16] = 2
	d.grow(seg(11490, ".log"), h)
}

// another makes a partition directory of an unknown topic with three batches.
func (d damaged) another(name string) {
	dir := filepath.Join(d.top, name)
	d.check(os.Mkdir(dir, 0o755))
	d.check(os.WriteFile(filepath.Join(dir, partitionMetadataName), []byte(otherTopic), 0o644))
	d.check(os.WriteFile(filepath.Join(dir, seg(0, ".log")), d.read(seg(0, ".log"))[:3*damagedBatch], 0o644))
}
