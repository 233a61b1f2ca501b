package minibroker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"minibroker/logstore"
	"minibroker/metadata"
)

// assignments are the log dirs of replicas that the metadata does not name rightly yet. They are gathered while a change of
// the metadata becomes visible, when no other can be made, and written after it, as Kafka's broker does.
type assignments struct {
	wake chan struct{} // holds a value while there may be something to write

	mu      sync.Mutex
	waiting []metadata.DirectoryAssignment
}

func newAssignments() *assignments { return &assignments{wake: make(chan struct{}, 1)} }

func (a *assignments) add(d metadata.DirectoryAssignment) {
	a.mu.Lock()
	a.waiting = append(a.waiting, d)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *assignments) take() []metadata.DirectoryAssignment {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.waiting
	a.waiting = nil
	return all
}

// assignmentsAtOnce is how many assignments one batch of the metadata log may hold.
const assignmentsAtOnce = 2000

// assignDirectories writes what waits.
func (b *Broker) assignDirectories() error {
	for part := range slices.Chunk(b.assign.take(), assignmentsAtOnce) {
		if err := b.meta.AssignDirectories(part); err != nil {
			return fmt.Errorf("assign partitions to log dirs: %w", err)
		}
	}
	return nil
}

// runAssignments writes assignments as they come until ctx ends.
func (b *Broker) runAssignments(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.assign.wake:
		}
		if err := b.assignDirectories(); err != nil {
			b.log.Error(err.Error(), "logger", "org.apache.kafka.server.AssignmentsManager")
		}
	}
}

// noteDirectory notes where the files of a partition are, if the metadata says something else. Files win.
func (b *Broker) noteDirectory(topic *metadata.Topic, p *metadata.Partition) {
	dir := b.store.LogDir(logstore.TopicPartition{Topic: topic.Name, Partition: p.ID})
	at := slices.Index(p.Replicas, b.config.NodeID())
	if dir == nil || at < 0 || at < len(p.Directories) && p.Directories[at] == dir.DirectoryID {
		return
	}
	b.assign.add(metadata.DirectoryAssignment{TopicID: topic.ID, Partition: p.ID, Directory: dir.DirectoryID})
}

// placeOf is the log dir that the metadata names for a partition, nil when it names none of this node's: the one with the
// fewest partitions is taken then.
func (b *Broker) placeOf(p *metadata.Partition) *logstore.Dir {
	at := slices.Index(p.Replicas, b.config.NodeID())
	if at < 0 || at >= len(p.Directories) {
		return nil
	}
	for _, d := range b.store.Dirs() {
		if d.DirectoryID == p.Directories[at] {
			return d
		}
	}
	return nil
}

// refuseLostMetadata refuses log dirs with topics when the metadata log is missing: with an empty one in its place all
// topics would count as strays. Kafka 4.4.0 puts them aside.
func (b *Broker) refuseLostMetadata(metadataDir string) error {
	present, err := metadata.HasState(b.fs, metadataDir)
	if err != nil || present {
		return err
	}
	for _, d := range b.store.Dirs() {
		entries, err := b.fs.ReadDir(d.Path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if name := e.Name(); e.IsDir() && name != metadata.DirName && !setAside(name) {
				return fmt.Errorf("%s holds no metadata log, but %s holds partitions (%s): restore it, name the place where it is with metadata.log.dir, "+
					"look at the data with --read-only, or remove the partitions to begin an empty cluster", metadataDir, d.Path, name)
			}
		}
	}
	return nil
}

// setAside tells by its name that a directory is no partition in use.
func setAside(name string) bool {
	return strings.HasSuffix(name, "-delete") || strings.HasSuffix(name, "-stray") || strings.HasSuffix(name, "-future")
}

// newClusterID is the id for directories without one: what was asked for, unless a directory belongs to a cluster already.
func (b *Broker) newClusterID() string {
	if b.clusterID == "" {
		return ""
	}
	for _, dir := range b.config.LogDirs() {
		meta, err := logstore.ReadMetaProperties(b.fs, dir)
		if err != nil || meta.ClusterID == "" {
			continue // new, or the store says what is wrong with it
		}
		if meta.ClusterID != b.clusterID {
			b.log.Warn(fmt.Sprintf("The cluster id %s is not used: %s belongs to cluster %s", b.clusterID, dir, meta.ClusterID),
				"logger", "kafka.server.KafkaRaftServer")
		}
		return ""
	}
	return b.clusterID
}
