package cleaner

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// wholePartition is a partition with a single replica: all that was appended is
// settled but for open transactions.
type wholePartition struct{ log *logstore.Log }

func (p wholePartition) Log() *logstore.Log   { return p.log }
func (p wholePartition) HighWatermark() int64 { return p.log.EndOffset() }
func (p wholePartition) LastStableOffset() int64 {
	if at, open := p.log.FirstUnstableOffset(); open {
		return at
	}
	return p.log.EndOffset()
}

// node is a store with a cleaner.
type node struct {
	t        testing.TB
	fs       vfs.FS
	dir      string
	settings Settings
	config   func(topic string) logstore.Config
	store    *logstore.Store
	cleaner  *Cleaner
}

func testSettings() Settings {
	return Settings{Threads: 1, DedupeBufferBytes: 1 << 20, IOBufferBytes: 64 << 10, LoadFactor: 0.9,
		BytesPerSecond: 1e300, Backoff: 300 * time.Millisecond}
}

// open loads what lies in the directory.
func (n *node) open() {
	n.t.Helper()
	store, err := logstore.Open(logstore.Options{FS: n.fs, Dirs: []string{n.dir}, NodeID: 1, Configs: func() func(string) logstore.Config { return n.config }})
	must(n.t, err)
	must(n.t, store.Load(context.Background()))
	for _, log := range store.Logs() {
		must(n.t, log.SettleLoad())
	}
	n.store = store
	n.cleaner = New(Options{Checkpoints: store, Settings: func() Settings { return n.settings },
		Partitions: func() []Partition {
			var all []Partition
			for _, log := range store.Logs() {
				all = append(all, wholePartition{log})
			}
			return all
		}})
}

func (n *node) log(topic string) *logstore.Log {
	return n.store.Log(logstore.TopicPartition{Topic: topic})
}

func (n *node) checkpoint(topic string) int64 {
	n.t.Helper()
	offset, ok, err := n.store.CleanerOffset(logstore.TopicPartition{Topic: topic})
	must(n.t, err)
	if !ok {
		return -1
	}
	return offset
}

// files reads the directory of a partition.
func (n *node) files(dir string) map[string][]byte {
	n.t.Helper()
	all := map[string][]byte{}
	entries, err := n.fs.ReadDir(filepath.Join(n.dir, dir))
	must(n.t, err)
	for _, e := range entries {
		b, err := vfs.ReadFile(n.fs, filepath.Join(n.dir, dir, e.Name()))
		must(n.t, err)
		all[dir+"/"+e.Name()] = b
	}
	return all
}

func writeFile(t testing.TB, fsys vfs.FS, path string, data []byte) {
	t.Helper()
	must(t, fsys.MkdirAll(filepath.Dir(path), 0o755))
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fs.FileMode(0o644))
	must(t, err)
	// Without the zeros at the end: preallocated indexes are holes.
	_, err = f.WriteAt(bytes.TrimRight(data, "\x00"), 0)
	must(t, err)
	must(t, f.Truncate(int64(len(data))))
	must(t, f.Sync())
	must(t, f.Close())
}

// fetchLine is what a reader with a limit of one byte gets at an offset, in the
// words of the golden files.
func (n *node) fetchLine(topic string, offset int64) string {
	n.t.Helper()
	log := n.log(topic)
	p := wholePartition{log}
	info, err := log.Read(offset, 1, logstore.ReadOptions{UpperBound: p.HighWatermark(), MinOneMessage: true})
	if err != nil {
		return fmt.Sprintf("%d: %v", offset, err)
	}
	var data []byte
	if info.Records != nil {
		data = make([]byte, info.Records.Len())
		_, err := info.Records.ReadAt(data, 0)
		must(n.t, err)
		info.Records.Release()
	}
	var batches []string
	note := ""
	for rest := data; len(rest) > 0; {
		var b record.Batch
		b, rest, err = record.Next(rest)
		must(n.t, err)
		if b.Codec() != record.None {
			note = " compressed"
		}
		batches = append(batches, fmt.Sprintf("%d-%d/%d", b.BaseOffset(), b.LastOffset(), b.Count()))
	}
	return fmt.Sprintf("%d: ok bytes=%d batches=[%s] partial=0 HW=%d LSO=%d start=%d%s", offset, len(data),
		strings.Join(batches, " "), p.HighWatermark(), p.LastStableOffset(), log.StartOffset(), note)
}
