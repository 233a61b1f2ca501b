package cleaner

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"minibroker/logstore"
	"minibroker/record"
)

// goldenStep is one step of a case and what Kafka answered.
type goldenStep struct {
	Do        string
	Topic     string
	Name      string
	File      string
	Producer  string
	Configs   map[string]string
	Files     map[string]string
	Offset    int64
	To        int64
	Ms        int64
	Kill      bool
	Isolation int
	Want      string
}

// goldenCase is what was done to Kafka and what lay on its disk.
type goldenCase struct {
	Name    string
	Configs map[string]string `json:"broker_configs"`
	Steps   []goldenStep

	files map[string][]byte // by path in the archive
}

func loadGolden(t *testing.T, name string) *goldenCase {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "kafka", name+".tar.zst"))
	must(t, err)
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	must(t, err)
	defer z.Close()
	c := &goldenCase{files: map[string][]byte{}}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(r)
		must(t, err)
		c.files[h.Name] = b
	}
	must(t, json.Unmarshal(c.files["case.json"], c))
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// capture lists the files of a capture by their paths in the data directory.
func (c *goldenCase) capture(name string) map[string][]byte {
	all := map[string][]byte{}
	for path, b := range c.files {
		if rest, ok := strings.CutPrefix(path, name+"/"); ok && filepath.Base(rest) != "files.json" && !strings.HasSuffix(rest, ".txt") {
			all[rest] = b
		}
	}
	return all
}

// nextCapture is the name of the first capture after step i.
func (c *goldenCase) nextCapture(i int) string {
	for _, s := range c.Steps[i+1:] {
		if s.Do == "capture" {
			return s.Name
		}
	}
	return ""
}

// needsCapture reports whether the case holds what cannot be done again here:
// transactions, the broker's clock, a hand that changed files. Its logs are
// taken from Kafka's captures.
func (c *goldenCase) needsCapture() bool {
	return slices.ContainsFunc(c.Steps, func(s goldenStep) bool {
		return s.Do == "find_coordinator" || s.Do == "tamper" || s.Configs["message.timestamp.type"] != ""
	})
}

// passTime is when the pass ran whose result a capture shows, as its largest
// delete horizon tells; 0 when it has none.
func (c *goldenCase) passTime(capture string, retentionMs int64) int64 {
	largest := int64(0)
	for path, data := range c.capture(capture) {
		if !strings.HasSuffix(path, ".log") {
			continue
		}
		for len(data) > 0 {
			b, rest, err := record.Next(data)
			if err != nil {
				break
			}
			if ms, ok := b.DeleteHorizon(); ok {
				largest = max(largest, ms-retentionMs)
			}
			data = rest
		}
	}
	return largest
}

// goldenConfig applies topic settings by name.
func goldenConfig(cfg logstore.Config, settings map[string]string) logstore.Config {
	for name, value := range settings {
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "cleanup.policy":
			cfg.Compact, cfg.Delete = strings.Contains(value, "compact"), strings.Contains(value, "delete")
		case "delete.retention.ms":
			cfg.DeleteRetentionMs = n
		case "file.delete.delay.ms":
			cfg.FileDeleteDelayMs = n
		case "index.interval.bytes":
			cfg.IndexIntervalBytes = int(n)
		case "internal.segment.bytes":
			cfg.SegmentBytes = int(n)
		case "max.compaction.lag.ms":
			cfg.MaxCompactionLagMs = n
		case "max.message.bytes":
			cfg.MaxMessageBytes = int(n)
		case "message.timestamp.after.max.ms":
			cfg.TimestampAfterMaxMs = n
		case "message.timestamp.type":
			cfg.TimestampType = record.LogAppendTime
		case "min.cleanable.dirty.ratio":
			cfg.MinCleanableRatio, _ = strconv.ParseFloat(value, 64)
		case "min.compaction.lag.ms":
			cfg.MinCompactionLagMs = n
		case "retention.bytes":
			cfg.RetentionBytes = n
		case "retention.ms":
			cfg.RetentionMs = n
		case "segment.index.bytes":
			cfg.IndexBytes = int(n)
		case "segment.ms":
			cfg.SegmentMs = n
		default:
			panic("unknown setting " + name)
		}
	}
	return cfg
}

// sameFile tells how a file differs from Kafka's, "" when it does not. Logs may
// differ in the compressed form of batches with the same records; note says so.
func sameFile(path string, want, got []byte) (note, diff string) {
	if bytes.Equal(want, got) {
		return "", ""
	}
	if strings.HasSuffix(path, ".log") {
		return sameLog(want, got)
	}
	first := 0
	for first < min(len(want), len(got)) && want[first] == got[first] {
		first++
	}
	around := func(b []byte) []byte { return b[min(first, len(b)):min(first+24, len(b))] }
	return "", fmt.Sprintf("%d bytes, Kafka %d; from byte %d: %x, Kafka %x", len(got), len(want), first, around(got), around(want))
}

func sameLog(want, got []byte) (note, diff string) {
	for len(want) > 0 && len(got) > 0 {
		w, wantRest, err := record.Next(want)
		g, gotRest, err2 := record.Next(got)
		if err != nil || err2 != nil {
			return "", fmt.Sprintf("unreadable: %v, Kafka %v", err2, err)
		}
		want, got = wantRest, gotRest
		if bytes.Equal(w, g) {
			continue
		}
		if w.Codec() == record.None || describeBatch(w) != describeBatch(g) {
			return "", "\n here  " + describeBatch(g) + "\n Kafka " + describeBatch(w)
		}
		note = "compressed form"
	}
	if len(want) != len(got) {
		return "", fmt.Sprintf("%d bytes more, Kafka %d", len(got), len(want))
	}
	return note, ""
}

// describeBatch words all of a batch but its size and checksum.
func describeBatch(b record.Batch) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d-%d epoch %d attributes %#x base %d max %d producer %d/%d/%d count %d crc %t",
		b.BaseOffset(), b.LastOffset(), b.LeaderEpoch(), b.Attributes(), b.BaseTimestamp(), b.MaxTimestamp(),
		b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.Count(), b.ChecksumOK())
	err := b.ForEach(0, func(r *record.Record) error {
		fmt.Fprintf(&s, " [%d %d %q=%q null %t %t", r.Offset, r.Timestamp, r.Key, r.Value, r.Key == nil, r.Value == nil)
		for _, h := range r.Headers {
			fmt.Fprintf(&s, " %q:%q", h.Key, h.Value)
		}
		s.WriteString("]")
		return nil
	})
	if err != nil {
		fmt.Fprintf(&s, " %v", err)
	}
	return s.String()
}
