package cleaner

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/logstore"
)

// TestLeftovers starts on what interrupted replacements left behind and
// compares with what Kafka made of the same. Differences:
//
//	i     Kafka lets an empty .log.swap replace a good segment; here that
//	      segment stays.
//	g, n  Looking at a .log.swap without an index, Kafka creates one of zeros,
//	      which then counts as the segment's; here the indexes are rebuilt.
func TestLeftovers(t *testing.T) {
	c := loadGolden(t, "crash")
	total := goldenCount{}
	for letter := 'a'; letter <= 'o'; letter++ {
		name := string(letter)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 11, 30, 4, 30, 0, 0, time.UTC)))
				r := leftover(t, c, name)
				t.Logf("%v", r.goldenCount)
				total.add(r.goldenCount)
			})
		})
	}
	t.Logf("all cases: %v", total)
}

// leftover loads the files of one case and compares.
func leftover(t *testing.T, c *goldenCase, name string) *goldenRun {
	topic := "g-crash-" + name
	r := &goldenRun{t: t, c: c, configs: map[string]logstore.Config{}, lenient: map[string]bool{}, epoch: 2}
	for _, s := range c.Steps {
		if s.Do == "create_topic" && s.Topic == topic {
			r.configs[topic] = goldenConfig(logstore.DefaultConfig(), s.Configs)
		}
	}
	before := c.capture(name + "/before")
	r.adopt(before)
	r.lenient = map[string]bool{}
	for _, log := range r.n.store.Logs() {
		must(t, log.AssignEpoch(r.epoch))
	}
	switch name {
	case "i":
		keptSegment(t, r, before)
	case "g", "n":
		for _, suffix := range []string{".index", ".timeindex"} {
			file := "-0/00000000000000000000" + suffix
			c.files[name+"/after/"+topic+file] = c.files["ref/after/g-crash-ref"+file]
		}
		fallthrough
	default:
		r.capture(goldenStep{Name: name + "/after"})
		r.fetchEach(goldenStep{Topic: topic, Name: name + "/fetch.txt"})
	}
	must(t, r.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	return r
}

// keptSegment: the segment beside an empty .log.swap is as it was, and each of
// its offsets is answered from it.
func keptSegment(t *testing.T, r *goldenRun, before map[string][]byte) {
	after := r.n.files("g-crash-i-0")
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if strings.HasSuffix(path, ".swap") {
			if _, ok := after[path]; ok {
				t.Errorf("%s is still there", path)
			}
			continue
		}
		if strings.HasSuffix(path, ".log") && string(before[path]) != string(after[path]) {
			t.Errorf("%s: %d bytes, %d before", path, len(after[path]), len(before[path]))
		}
	}
	for offset := range int64(4) {
		first := "0-1/2"
		if offset >= 2 {
			first = "2-3/2"
		}
		if line := r.n.fetchLine("g-crash-i", offset); !strings.Contains(line, "batches=["+first+"]") {
			t.Errorf("%s, want %s", line, first)
		}
	}
}
