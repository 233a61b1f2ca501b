package minibroker

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// formatting is the first start on empty data directories: some twenty small files, which are synced together after the
// broker serves instead of one by one before. Nothing that must last is answered before that is done.
type formatting struct {
	fs   *vfs.Deferred
	done chan struct{}
	err  error // guarded by done
}

// beginFormatting returns nil unless all the data directories are missing or empty.
func beginFormatting(fsys vfs.FS, dirs []string) (*formatting, error) {
	for _, dir := range dirs {
		entries, err := fsys.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look into data directory %s: %w", dir, err)
		}
		if len(entries) > 0 {
			return nil, nil
		}
	}
	return &formatting{fs: vfs.NewDeferred(fsys), done: make(chan struct{})}, nil
}

// finish syncs everything.
func (f *formatting) finish() error {
	f.err = f.fs.Flush()
	close(f.done)
	return f.err
}

// wait returns when everything is synced; at once for a broker that formatted nothing.
func (f *formatting) wait() error {
	if f == nil {
		return nil
	}
	<-f.done
	return f.err
}

// formatMetadataDir gives the id of the directory that holds the metadata log. A metadata.log.dir beside the log dirs gets a
// meta.properties of its own, as kafka-storage.sh format writes it: without one Kafka would not start on it.
func (b *Broker) formatMetadataDir() (logstore.UUID, error) {
	dir := b.config.MetadataLogDir()
	for _, d := range b.store.Dirs() {
		if d.Path == dir {
			return d.DirectoryID, nil
		}
	}
	meta, err := logstore.ReadMetaProperties(b.fs, dir)
	if err == nil && (meta.NodeID != b.config.NodeID() || meta.ClusterID != b.store.ClusterID()) {
		return logstore.UUID{}, fmt.Errorf("%s is the metadata directory of node %d of cluster %s, the log dirs are those of node %d of cluster %s; "+
			"name the right one with metadata.log.dir", dir, meta.NodeID, meta.ClusterID, b.config.NodeID(), b.store.ClusterID())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return meta.DirectoryID, err
	}
	if slices.Contains(b.config.LogDirs(), dir) {
		return logstore.UUID{}, nil // it failed; nothing is made in its place
	}
	meta = logstore.MetaProperties{NodeID: b.config.NodeID(), ClusterID: b.store.ClusterID(), DirectoryID: logstore.NewUUID(), Version: 1}
	if err := logstore.MakeDir(b.fs, dir); err != nil {
		return logstore.UUID{}, err
	}
	return meta.DirectoryID, logstore.WriteMetaProperties(b.fs, dir, meta)
}
