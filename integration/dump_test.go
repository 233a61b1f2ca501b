package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"minibroker/dump"
)

// dumped is a file that both programs show.
type dumped struct {
	path string
	args []string // of kafka-dump-log beside the file
}

// TestDumpAgreesWithKafka shows every file of every directory that Kafka left in the test data with minibroker's dump and with
// kafka-dump-log: the lines must be the same.
func TestDumpAgreesWithKafka(t *testing.T) {
	t.Parallel()
	kafkaLibs(t) // skips before anything is unpacked
	files := capturedFiles(t)
	if len(files) < 300 {
		t.Fatalf("only %d files", len(files))
	}
	var commands strings.Builder
	for _, f := range files {
		commands.WriteString("org.apache.kafka.tools.DumpLogSegments\t" + strings.Join(append(f.args, "--files", f.path), "\t") + "\n")
	}
	theirs := strings.Split(java(t, commands.String(), filepath.Join("testdata", "java", "Tools.java")), ">>> exit ")[1:]
	if len(theirs) != len(files) {
		t.Fatalf("%d answers for %d files", len(theirs), len(files))
	}
	same, stopped, lines := map[string]int{}, 0, 0
	for i, f := range files {
		kind := filepath.Ext(f.path)
		ours := dumpText(t, f.path)
		code, rest, _ := strings.Cut(theirs[i], "\n")
		stdout, stderr, _ := strings.Cut(rest, "--- stderr\n")
		switch {
		case code == "0" && ours == stdout:
			same[kind]++
			lines += strings.Count(ours, "\n")
		case code == "1" && strings.HasPrefix(ours, strings.TrimSuffix(stdout, "\n")):
			stopped++ // by an exception about the damage; what it printed before is the same
			t.Logf("kafka-dump-log gives up on %s: %s", f.path, strings.SplitN(stderr, "\n", 2)[0])
		default:
			t.Errorf("%s: exit %s\n%s\n%s", f.path, code, firstDifference(stdout, ours), stderr)
		}
	}
	t.Logf("%d lines of %d files agree with kafka-dump-log %v; it gave up on %d more", lines, len(files)-stopped, same, stopped)
}

// firstDifference shows where two texts part.
func firstDifference(theirs, ours string) string {
	a, b := strings.Split(theirs, "\n"), strings.Split(ours, "\n")
	for i := range max(len(a), len(b)) {
		x, y := "(end)", "(end)"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d\nkafka %s\n ours %s", i+1, x, y)
		}
	}
	return "the same"
}

func dumpText(t *testing.T, path string) string {
	t.Helper()
	var out bytes.Buffer
	d := dump.New(dump.Options{Out: &out})
	if err := d.File(path); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if _, err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// capturedFiles unpacks all captures and lists the files that kafka-dump-log knows, of those that are the same only one.
func capturedFiles(t *testing.T) []dumped {
	t.Helper()
	var archives []string
	for _, pattern := range []string{"testdata/golden/*/*.tar.zst", "testdata/golden/txn/*/files.tar.zst", "testdata/kraft/*.tar.gz",
		"../cleaner/testdata/kafka/*.tar.zst"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d, %v", pattern, len(found), err)
		}
		archives = append(archives, found...)
	}
	var files []dumped
	seen := map[string]bool{}
	for i, archive := range archives {
		root := filepath.Join(t.TempDir(), fmt.Sprint(i))
		sums := unpackSparse(t, archive, root)
		for _, path := range slices.Sorted(maps.Keys(sums)) {
			f, known := kafkaReads(path)
			if print := fingerprint(sums, path); known && !seen[print] {
				seen[print] = true
				files = append(files, f)
			}
		}
	}
	return files
}

// kafkaReads tells whether kafka-dump-log can show a file, and with which arguments.
func kafkaReads(path string) (dumped, bool) {
	f := dumped{path: path}
	dir := filepath.Base(filepath.Dir(path))
	switch filepath.Ext(path) {
	case ".log", ".checkpoint":
	case ".index", ".timeindex":
		_, err := os.Stat(strings.TrimSuffix(path, filepath.Ext(path)) + ".log")
		_, indexErr := os.Stat(strings.TrimSuffix(path, filepath.Ext(path)) + ".index")
		return f, err == nil && indexErr == nil
	case ".txnindex", ".snapshot":
		return f, true
	default:
		return f, false
	}
	switch {
	case strings.HasPrefix(dir, "__consumer_offsets-"):
		f.args = []string{"--offsets-decoder"}
	case strings.HasPrefix(dir, "__transaction_state-"):
		f.args = []string{"--transaction-log-decoder"}
	case strings.HasPrefix(dir, "__share_group_state-"):
		f.args = []string{"--share-group-state-decoder"}
	case strings.HasPrefix(dir, "__cluster_metadata-"), filepath.Ext(path) == ".checkpoint":
		f.args = []string{"--cluster-metadata-decoder"}
	default:
		f.args = []string{"--print-data-log"}
	}
	return f, true
}

// fingerprint is equal for files that look the same to both programs: they and the log beside them hold the same.
func fingerprint(sums map[string][sha256.Size]byte, path string) string {
	topic, _, _ := strings.Cut(filepath.Base(filepath.Dir(path)), "-")
	return fmt.Sprintf("%s/%s %x %x", topic, filepath.Base(path), sums[path], sums[strings.TrimSuffix(path, filepath.Ext(path))+".log"])
}

// unpackSparse unpacks an archive and gives a sum of each file; what is zero at the end of a file takes no space and is not in it.
func unpackSparse(t *testing.T, archive, root string) map[string][sha256.Size]byte {
	t.Helper()
	sums := map[string][sha256.Size]byte{}
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	var plain io.Reader
	if strings.HasSuffix(archive, ".gz") {
		plain, err = gzip.NewReader(bytes.NewReader(packed))
	} else {
		plain, err = zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err == io.EOF {
			return sums
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		path := filepath.Join(root, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		filled := bytes.TrimRight(data, "\x00")
		sums[path] = sha256.Sum256(filled)
		if err := os.WriteFile(path, filled, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(len(data))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDumpSchemas makes the table of record layouts again from Kafka's classes: it must be the one that dump works with.
func TestDumpSchemas(t *testing.T) {
	want := java(t, "", filepath.Join("testdata", "java", "Schemas.java"))
	have, err := os.ReadFile(filepath.Join("..", "dump", "schemas.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("dump/schemas.txt differs:\n%s", firstDifference(want, string(have)))
	}
}
