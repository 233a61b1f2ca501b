package integration

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// exampleBatches are the batches of a worked example: 12,000 records of about 256 bytes, ten to a batch of 2,731 bytes,
// which make segments of 1,045,973 bytes at 0, 3830 and 7660 and one of 139,281 at 11490.
func exampleBatches(t *testing.T) [][]byte {
	t.Helper()
	return loadCase(t, "ex1").input
}

// stamp gives a batch of example records, which all have the same stored length, new timestamps from ms on.
func stamp(batch []byte, ms int64) []byte {
	b := slices.Clone(batch)
	width := binary.BigEndian.Uint64(b[35:]) - binary.BigEndian.Uint64(b[27:])
	binary.BigEndian.PutUint64(b[27:], uint64(ms))
	binary.BigEndian.PutUint64(b[35:], uint64(ms)+width)
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// logNames lists the .log files of a partition, with what follows their name.
func logNames(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.log*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range names {
		base, rest, _ := strings.Cut(filepath.Base(n), ".log")
		names[i] = strings.TrimLeft(base, "0")
		if names[i] == "" {
			names[i] = "0"
		}
		names[i] += rest
	}
	slices.SortFunc(names, func(a, b string) int {
		return len(strings.TrimSuffix(a, ".deleted")) - len(strings.TrimSuffix(b, ".deleted"))
	})
	return strings.Join(names, " ")
}

// awaitLines waits until the broker has printed as many lines as are wanted, which may come after the answer or the file
// that they tell of, and compares them.
func awaitLines(t *testing.T, want []string, printed func() []string) {
	t.Helper()
	await(patience, func() bool { return len(printed()) >= len(want) })
	compareLines(t, "log lines", want, printed())
}

// linesAbout picks the broker's lines that match, without time, class and partition, and with clocks
// blanked.
func linesAbout(output string, pattern *regexp.Regexp) []string {
	clocks := regexp.MustCompile(`in \d+ ?ms|(lastModifiedTime|largestRecordTimestamp|highWatermark|lastStableOffset)=\d+|topicId=[\w-]+`)
	trimmed := regexp.MustCompile(`^\[[^\]]*\] \w+ (\[(UnifiedLog|LocalLog|LogLoader) [^\]]*\] )?`)
	var picked []string
	for _, line := range strings.Split(output, "\n") {
		line = trimmed.ReplaceAllString(line, "")
		if i := strings.LastIndex(line, " ("); i > 0 && strings.HasSuffix(line, ")") && !strings.Contains(line[i:], "=") {
			line = line[:i]
		}
		if pattern.MatchString(line) && !strings.Contains(line, "__cluster_metadata") {
			picked = append(picked, clocks.ReplaceAllString(line, "*"))
		}
	}
	return picked
}

// TestRetentionExample is the worked example of retention.ms: segments leave one after the other by their largest
// timestamps, the active one too, each first renamed and later removed, with Kafka's lines in Kafka's order. The times
// are shorter.
func TestRetentionExample(t *testing.T) {
	t.Parallel()
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, []string{"log.retention.check.interval.ms=300", "log.initial.task.delay.ms=300"})
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.CreateTopic("ret", 1, map[string]string{"retention.ms": "20000", "segment.bytes": "1048576", "file.delete.delay.ms": "5000"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	batches := exampleBatches(t)
	for i, b := range batches {
		ages := []int64{17500, 16000, 14500, 14500} // of the segments of 383 batches
		if _, err := conn.Produce("ret", 0, stamp(b, now-ages[i/383])); err != nil {
			t.Fatal(err)
		}
	}
	if start, err := conn.ListOffset("ret", 0, -2); err != nil || start != 0 {
		t.Fatalf("earliest offset %d, %v", start, err)
	}
	watch := []string{
		"0 3830 7660 11490", "0.deleted 3830 7660 11490", "0.deleted 3830.deleted 7660 11490",
		"0.deleted 3830.deleted 7660.deleted 11490.deleted 12000",
		"3830.deleted 7660.deleted 11490.deleted 12000", "7660.deleted 11490.deleted 12000", "12000",
	}
	for _, want := range watch {
		got := ""
		if !await(patience, func() bool { got = logNames(t, filepath.Join(data, "ret-0")); return got == want }) {
			t.Fatalf("files %q, expected %q\n%s", got, want, p.Output())
		}
	}
	if start, err := conn.ListOffset("ret", 0, -2); err != nil || start != 12000 {
		t.Errorf("earliest offset %d, %v", start, err)
	}
	dir := filepath.Join(data, "ret-0") + "/"
	pattern := regexp.MustCompile(`^(Rolled new log segment|Incremented log start|Deleting segment|Deleted log 0)`)
	segment := func(base, size int) string {
		return fmt.Sprintf("LogSegment(baseOffset=%d, size=%d, *, *)", base, size)
	}
	const why = " due to log retention time 20000ms breach based on the largest record timestamp in the segment"
	const full, rest = 1045973, 139281
	want := []string{
		"Rolled new log segment at offset 3830 *.", "Rolled new log segment at offset 7660 *.", "Rolled new log segment at offset 11490 *.",
		"Incremented log start offset to 3830 due to segment deletion", "Deleting segment " + segment(0, full) + why,
		"Incremented log start offset to 7660 due to segment deletion", "Deleting segment " + segment(3830, full) + why,
		"Rolled new log segment at offset 12000 *.",
		"Incremented log start offset to 12000 due to segment deletion",
		"Deleting segment " + segment(7660, full) + why, "Deleting segment " + segment(11490, rest) + why,
		"Deleting segment files " + segment(0, full), "Deleted log 00000000000000000000.log.deleted.",
		"Deleting segment files " + segment(3830, full), "Deleted log 00000000000000003830.log.deleted.",
		"Deleting segment files " + segment(7660, full) + ", " + segment(11490, rest),
		"Deleted log 00000000000000007660.log.deleted.", "Deleted log 00000000000000011490.log.deleted.",
	}
	awaitLines(t, want, func() []string { return linesAbout(strings.ReplaceAll(p.Output(), dir, ""), pattern) })
	p.Stop(t)
}

// TestRecoveryExample is the worked example of kill -9 and a clean stop: the marker, the recovery point, which segments
// are read again, and Kafka's lines.
func TestRecoveryExample(t *testing.T) {
	t.Parallel()
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	settings := []string{"log.flush.offset.checkpoint.interval.ms=1000", "log.initial.task.delay.ms=1000", "log.retention.ms=-1"}
	p := startProcess(t, data, addr, settings)
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.CreateTopic("rec", 1, map[string]string{"segment.bytes": "1048576"}); err != nil {
		t.Fatal(err)
	}
	for _, b := range exampleBatches(t) {
		if _, err := conn.Produce("rec", 0, b); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	point := func(want string) {
		t.Helper()
		path, got := filepath.Join(data, "recovery-point-offset-checkpoint"), []byte(nil)
		if !await(patience, func() bool { got, _ = os.ReadFile(path); return string(got) == "0\n1\nrec 0 "+want+"\n" }) {
			t.Errorf("recovery points %q, expected %s", got, want)
		}
	}
	marker := func(want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(data, ".kafka_cleanshutdown")); (err == nil) != want {
			t.Errorf("clean shutdown marker: %v, expected %v", err, want)
		}
	}
	lines := func(p *Process, first ...string) {
		t.Helper()
		pattern := regexp.MustCompile(`^(Recovering|Skipping recovery|Completed load)`)
		loaded := "Completed load of Log(dir=DATA/rec-0, *, topic=rec, partition=0, *, *, logStartOffset=0, logEndOffset=12000) " +
			"with 4 segments, local-log-start-offset 0 and log-end-offset 12000 * (1/1 completed in DATA)"
		awaitLines(t, append(first, loaded), func() []string { return linesAbout(strings.ReplaceAll(p.Output(), data, "DATA"), pattern) })
	}
	point("11490")
	p.Kill()
	marker(false)
	p = startProcess(t, data, addr, settings)
	lines(p, "Recovering 1 logs from DATA since no clean shutdown file was found",
		"Recovering unflushed segment 11490. 0 recovered for rec-0.")
	p.Stop(t)
	marker(true)
	point("12000")
	p = startProcess(t, data, addr, settings)
	lines(p, "Skipping recovery of 1 logs from DATA since clean shutdown file was found")
	if end := endOffset(t, addr, "rec"); end != 12000 {
		t.Errorf("rec:0:%d", end)
	}
	p.Stop(t)
}

// endOffset asks for the end of partition 0.
func endOffset(t *testing.T, addr, topic string) int64 {
	t.Helper()
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	end, err := conn.ListOffset(topic, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	return end
}
