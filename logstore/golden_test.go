package logstore

import (
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

// TestGolden feeds the batches that Apache Kafka 4.4.0 got to a store and
// compares all files with those that Kafka left, byte for byte.
func TestGolden(t *testing.T) {
	for _, g := range []struct {
		name string
		skip string // files whose bytes hold a clock
	}{
		{name: "ex1"},
		{name: "seg2"},
		{name: "index", skip: `^(lat|latgzip)-0/.*\.(log|index|timeindex)$`},
		{name: "records"},
		{name: "idempotent"},
		{name: "roll-size"},
		{name: "preallocate"},
		{name: "restart"},
		{name: "reject"},
		{name: "codecs", skip: `^c-(gzip|snappy|lz4|zstd)-0/.*\.(log|index|timeindex)$`},
	} {
		t.Run(g.name, func(t *testing.T) { replayGolden(t, g.name, g.skip, nil) })
	}
	// Here the wall clock rolls segments.
	t.Run("roll-time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { replayGolden(t, "roll-time", "", time.Sleep) })
	})
}

func replayGolden(t *testing.T, name, skip string, sleep func(time.Duration)) {
	c := loadGolden(t, name)
	r := newReplay(t, c)
	r.sleep = sleep
	total, agree := 0, 0
	r.run(func(capture string) {
		want, got := readCapture(t, filepath.Join(c.dir, capture+".tar.zst")), readTree(t, r.dir)
		if skip != "" {
			want.drop(skip)
			got.drop(skip)
		}
		diffs, n := want.diff(got)
		for _, d := range diffs {
			t.Errorf("%s: %s", capture, d)
		}
		total += n
		agree += n - len(diffs)
	})
	t.Logf("%d of %d files agree", agree, total)
}

func (files tree) drop(pattern string) {
	p := regexp.MustCompile(pattern)
	for name := range files {
		if p.MatchString(name) {
			delete(files, name)
		}
	}
}
