package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMillionByteSegments fills 1 MiB segments with 12,000 records from Java's own producer and expects the directory
// that Kafka makes of them: names, sizes, index entries, and the positions Kafka's classes find in them.
func TestMillionByteSegments(t *testing.T) {
	kafkaLibs(t)
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, []string{"log.segment.bytes=1048576"})
	createTopic(t, addr, "seg", 1, nil)
	createTopic(t, addr, "seg2", 1, map[string]string{"segment.index.bytes": "400"})
	java(t, "", "testdata/java/Fill.java", addr, "seg", "12000")
	java(t, "", "testdata/java/Fill.java", addr, "seg2", "2000")
	partition := filepath.Join(data, "seg-0")
	expectFiles(t, partition, []string{
		"1528 00000000000000000000.index", "1045973 00000000000000000000.log", "2292 00000000000000000000.timeindex",
		"1528 00000000000000003830.index", "1045973 00000000000000003830.log", "56 00000000000000003830.snapshot",
		"2292 00000000000000003830.timeindex", "1528 00000000000000007660.index", "1045973 00000000000000007660.log",
		"56 00000000000000007660.snapshot", "2292 00000000000000007660.timeindex", "10485760 00000000000000011490.index",
		"139281 00000000000000011490.log", "56 00000000000000011490.snapshot", "10485756 00000000000000011490.timeindex",
		"8 leader-epoch-checkpoint", "43 partition.metadata",
	})
	rolled := regexp.MustCompile(`Rolled new log segment at offset (\d+) in \d+ ms\. \(org\.apache\.kafka\.storage\.internals\.log\.LocalLog\)`)
	rolls := func() int { return len(rolled.FindAllString(p.Output(), -1)) }
	if !await(patience, func() bool { return rolls() >= 6 }) || rolls() != 6 {
		t.Errorf("%d roll lines in the broker's log, expected 3 for seg and 3 for seg2:\n%s", rolls(), p.Output())
	}
	p.Stop(t)
	lookups(t, partition)
	segmentsOfSmallIndex(t, filepath.Join(data, "seg2-0"))
	dumpLog(t, data)
}

func lookups(t *testing.T, partition string) {
	t.Helper()
	got := java(t, "", "testdata/java/Lookup.java", partition, "0", "0", "35", "49", "50", "3829")
	want := `entries 191
0 index 0 0 batch 0 size 2731
35 index 29 5462 batch 8193 size 2731
49 index 49 10924 batch 10924 size 2731
50 index 49 10924 batch 13655 size 2731
3829 index 3829 1043242 batch 1043242 size 2731
`
	if got != want {
		t.Errorf("look-ups with Kafka's classes:\n%s\nexpected\n%s", got, want)
	}
}

func segmentsOfSmallIndex(t *testing.T, partition string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(partition, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	var bases []string
	for _, l := range logs {
		bases = append(bases, strings.TrimLeft(strings.TrimSuffix(filepath.Base(l), ".log"), "0"))
	}
	if want := []string{"", "650", "1300", "1950"}; !slices.Equal(bases, want) {
		t.Errorf("segments of a topic with segment.index.bytes=400: %q, expected %q", bases, want)
	}
	expectFiles(t, partition, []string{
		"256 00000000000000000000.index", "384 00000000000000000000.timeindex",
		"256 00000000000000000650.index", "384 00000000000000000650.timeindex",
		"256 00000000000000001300.index", "384 00000000000000001300.timeindex",
		"16 00000000000000001950.index", "24 00000000000000001950.timeindex",
	})
}

// expectFiles checks the sizes of the files that are named: "SIZE NAME".
func expectFiles(t *testing.T, dir string, want []string) {
	t.Helper()
	for _, line := range want {
		var size int64
		var name string
		if _, err := fmt.Sscan(line, &size, &name); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if info.Size() != size {
			t.Errorf("%s has %d bytes, Kafka's %d", name, info.Size(), size)
		}
	}
}

func createTopic(t *testing.T, addr, topic string, partitions int32, config map[string]string) {
	t.Helper()
	c, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateTopic(topic, partitions, config); err != nil {
		t.Fatal(err)
	}
}
