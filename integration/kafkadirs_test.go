package integration

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// capture is a directory that Kafka wrote, and what becomes of it.
type capture struct {
	archives []string
	groups   []string
	refused  string // part of the sentence when it cannot be used; it can be shown all the same
}

func captures() []capture {
	return []capture{
		{archives: []string{"01-format-voters"}},
		{archives: []string{"02-format-standalone"}},
		{archives: []string{"03-format-no-initial-controllers"}, refused: "the metadata names no voters"},
		{archives: []string{"04-first-start-clean-stop"}},
		{archives: []string{"05-admin-ops"}},
		{archives: []string{"06-groups-kill9"}},
		{archives: []string{"07-restart-snapshots"}},
		{archives: []string{"08-standalone-mixed-group"}},
		{archives: []string{"09a-two-log-dirs", "09b-two-log-dirs"}},
		{archives: []string{"10-delegation-tokens"}},
		{archives: []string{"11a-makedir-before"}, groups: []string{"billing"}},
		{archives: []string{"11b-makedir-after-takeover"}, groups: []string{"billing"}},
	}
}

// TestCaptures opens every captured directory of Kafka's: first read-only, which must not change a byte, then for use.
// Both must show the same, and so must a start after a clean stop and after a kill.
func TestCaptures(t *testing.T) {
	for _, c := range captures() {
		t.Run(c.archives[0], func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c capture) run(t *testing.T) {
	dirs := c.unpack(t)
	before := hashes(t, dirs)
	shown := showReadOnly(t, dirs, c.groups)
	compareStates(t, "files after read-only", before, hashes(t, dirs))
	data, addr := strings.Join(dirs, ","), freeAddr(t)
	if c.refused != "" {
		out := refusedStart(t, "--data-dir", data, "--listen", addr)
		if !strings.Contains(out, c.refused) {
			t.Errorf("refused with %q, not with %q", out, c.refused)
		}
		return
	}
	p := startProcess(t, data, addr, keepAll())
	compareStates(t, "opened", shown, brokerState(t, addr, c.groups...))
	p.Kill()
	p = startProcess(t, data, addr, keepAll())
	compareStates(t, "after a kill", shown, brokerState(t, addr, c.groups...))
	p.StopDirs(t, dirs)
	p = startProcess(t, data, addr, keepAll())
	compareStates(t, "after a clean stop", shown, brokerState(t, addr, c.groups...))
	p.StopDirs(t, dirs)
	compareStates(t, "read-only in the end", shown, showReadOnly(t, dirs, c.groups))
}

// keepAll keeps the old records of a capture.
func keepAll() []string { return []string{"log.retention.ms=-1"} }

// unpack lays the archives out and returns the log dirs.
func (c capture) unpack(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, name := range c.archives {
		root := t.TempDir()
		untar(t, filepath.Join("testdata", "kraft", name+".tar.gz"), root)
		entries, err := os.ReadDir(root)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s: %v, %v", name, entries, err)
		}
		dirs = append(dirs, filepath.Join(root, entries[0].Name()))
	}
	return dirs
}

func untar(t *testing.T, archive, root string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err == nil {
			err = untarOne(filepath.Join(root, h.Name), h, r)
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
	}
}

func untarOne(path string, h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, h.FileInfo().Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	return f.Close()
}

// hashes describes every file and directory below the log dirs, a line each.
func hashes(t *testing.T, dirs []string) []string {
	t.Helper()
	var lines []string
	for n, root := range dirs {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, path)
			line := fmt.Sprintf("%d:%s %s %v", n, rel, info.Mode(), info.ModTime())
			if !d.IsDir() {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				line += fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
			}
			lines = append(lines, line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(lines)
	return lines
}

// showReadOnly starts a read-only broker on the log dirs and returns what it shows.
func showReadOnly(t *testing.T, dirs, groups []string) []string {
	t.Helper()
	data, addr := strings.Join(dirs, ","), freeAddr(t)
	p := startArgs(t, data, addr, []string{"--read-only", data, "--listen", addr})
	shown := brokerState(t, addr, groups...)
	p.Kill()
	return shown
}
