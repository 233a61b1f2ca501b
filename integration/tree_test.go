package integration

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Content is a file's size and its bytes without trailing zeros, so that preallocated indexes cost nothing.
type Content struct {
	Size int64
	Data []byte
}

// Tree maps slash-separated paths to contents; a directory without files stands as "name/".
type Tree map[string]Content

func newContent(b []byte) Content {
	return Content{Size: int64(len(b)), Data: bytes.Clone(bytes.TrimRight(b, "\x00"))}
}

// captured tells whether a path belongs to a capture: internal topics and the controller's own files do not.
func captured(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	for _, prefix := range []string{"__cluster_metadata-0", "__transaction_state-", "__consumer_offsets-"} {
		if strings.HasPrefix(top, prefix) {
			return false
		}
	}
	return top != "bootstrap.checkpoint"
}

// readDir reads a data directory; files that vanish meanwhile are left out.
func readDir(t *testing.T, root string) Tree {
	t.Helper()
	return walkDir(t, root, func(path string, _ fs.DirEntry) (Content, error) {
		b, err := os.ReadFile(path)
		return newContent(b), err
	})
}

// listDir is readDir without the contents.
func listDir(t *testing.T, root string) Tree {
	t.Helper()
	return walkDir(t, root, func(_ string, e fs.DirEntry) (Content, error) {
		info, err := e.Info()
		if err != nil {
			return Content{}, err
		}
		return Content{Size: info.Size()}, nil
	})
}

func walkDir(t *testing.T, root string, read func(path string, e fs.DirEntry) (Content, error)) Tree {
	t.Helper()
	tree := Tree{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if rel == "." || !captured(rel) {
			return nil
		}
		if d.IsDir() {
			if entries, _ := os.ReadDir(p); len(entries) == 0 {
				tree[rel+"/"] = Content{}
			}
			return nil
		}
		content, err := read(p, d)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		tree[rel] = content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// readArchive reads a capture of Kafka's.
func readArchive(t *testing.T, file string) Tree {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	tree, r := Tree{}, tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return tree
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %s: %v", file, h.Name, err)
		}
		tree[h.Name] = newContent(b)
	}
}

// neutral blanks what is random or a clock by design: ids, the date of meta.properties, the broker epoch.
func neutral(path string, c Content) Content {
	patterns := map[string]string{
		"partition.metadata":   `topic_id: \S+`,
		"meta.properties":      `cluster\.id=\S+|directory\.id=\S+|#\w{3} \w{3} .*`,
		".kafka_cleanshutdown": `"brokerEpoch":-?\d+`,
	}
	pattern, ok := patterns[filepath.Base(path)]
	if !ok {
		return c
	}
	data := regexp.MustCompile(pattern).ReplaceAll(c.Data, []byte("*"))
	return Content{Size: int64(len(data)), Data: data}
}

// withoutIDs replaces the random part of -delete, -future and -stray names.
func withoutIDs(t Tree) Tree {
	id := regexp.MustCompile(`\.[0-9a-f]{32}-(delete|future|stray)`)
	out := Tree{}
	for k, v := range t {
		out[id.ReplaceAllString(k, ".*-$1")] = v
	}
	return out
}

// compareTrees lists the differences of two trees, a line each, and how many files it looked at.
func compareTrees(want, got Tree) (diffs []string, files int) {
	want, got = withoutIDs(want), withoutIDs(got)
	paths := map[string]bool{}
	for k := range want {
		paths[k] = true
	}
	for k := range got {
		paths[k] = true
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if d := compareFile(path, want, got); d != "" {
			diffs = append(diffs, d)
		}
	}
	return diffs, len(paths)
}

// sameLines compares checkpoint files but for the order of their lines. Both brokers write them in the order of a hash
// map; lines that share a slot come in the order in which Kafka's threads happened to put them there.
func sameLines(a, b []byte) bool {
	sorted := func(text []byte) []string {
		lines := strings.Split(string(text), "\n")
		slices.Sort(lines)
		return lines
	}
	return slices.Equal(sorted(a), sorted(b))
}

func compareFile(path string, want, got Tree) string {
	w, inWant := want[path]
	g, inGot := got[path]
	switch {
	case !inWant:
		return fmt.Sprintf("only minibroker has %s (%d bytes)", path, g.Size)
	case !inGot:
		return fmt.Sprintf("only Kafka has %s (%d bytes)", path, w.Size)
	}
	w, g = neutral(path, w), neutral(path, g)
	if w.Size == g.Size && bytes.Equal(w.Data, g.Data) {
		return ""
	}
	if strings.HasSuffix(path, "-checkpoint") {
		if sameLines(w.Data, g.Data) {
			return "" // see sameLines
		}
		return fmt.Sprintf("text differs: %s: Kafka %q, minibroker %q", path, w.Data, g.Data)
	}
	first := 0
	for first < len(w.Data) && first < len(g.Data) && w.Data[first] == g.Data[first] {
		first++
	}
	around := func(b []byte) []byte { return b[min(max(first-4, 0), len(b)):min(first+20, len(b))] }
	return fmt.Sprintf("bytes differ: %s: sizes %d (Kafka) and %d, first at %d: %x and %x",
		path, w.Size, g.Size, first, around(w.Data), around(g.Data))
}
