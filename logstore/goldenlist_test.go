package logstore

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGoldenLists replays what takes time in a broker, retention and the
// removal of files, and compares all files with Kafka's by size and checksum.
func TestGoldenLists(t *testing.T) {
	for _, name := range []string{"delete-records", "retention"} {
		t.Run(name, func(t *testing.T) {
			c := loadGoldenFrom(t, filepath.Join("testdata", "golden", name))
			r := newReplay(t, c)
			total, agree := 0, 0
			r.run(func(capture string) {
				want, got := readList(t, filepath.Join(c.dir, capture+".list")), sums(t, r.dir)
				paths := maps.Clone(want)
				maps.Copy(paths, got)
				for _, path := range slices.Sorted(maps.Keys(paths)) {
					if path == metaPropertiesName || path == cleanShutdownName && got[path] != "" {
						continue // the broker's epoch is not known here
					}
					w, g := want[path], got[path]
					if strings.HasSuffix(path, "-offset-checkpoint") || strings.HasSuffix(g, "----") {
						w, g = firstField(w), firstField(g) // lines in another order, or random ids
					}
					total++
					if w == g {
						agree++
						continue
					}
					t.Errorf("%s: %s: Kafka %q, here %q", capture, path, w, g)
				}
			})
			t.Logf("%d of %d files agree", agree, total)
		})
	}
}

func firstField(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

// readList reads lines of size, SHA-256 and path.
func readList(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		files[f[2]] = f[0] + " " + f[1][:16]
	}
	return files
}
