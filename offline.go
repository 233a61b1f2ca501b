package minibroker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"minibroker/logstore"
	"minibroker/metadata"
)

// logManager is the logger of Kafka's log manager.
const logManager = "org.apache.kafka.storage.internals.log.LogManager"

// isOffline tells whether a partition's files lie in a log dir that failed: the metadata name a directory that is not among
// those in use, while one of the configured ones is missing. An empty log must not take its place.
func (b *Broker) isOffline(p *metadata.Partition) bool {
	at := slices.Index(p.Replicas, b.config.NodeID())
	if len(b.store.OfflineDirs()) == 0 || at < 0 || at >= len(p.Directories) {
		return false
	}
	return !metadata.ReservedDirectory(p.Directories[at]) && b.placeOf(p) == nil
}

// suspicion is an error in a log dir in use.
type suspicion struct {
	dir   *logstore.Dir
	cause error
}

// suspect hands an error over to runFailures; it may come from anywhere and waits for nobody. One that finds the queue full
// says nothing that those before it do not say.
func (b *Broker) suspect(dir *logstore.Dir, cause error) {
	select {
	case b.suspicions <- suspicion{dir, cause}:
	default:
	}
}

// runFailures takes log dirs offline that failed, until ctx ends or nothing is left to serve.
func (b *Broker) runFailures(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-b.suspicions:
			if !slices.Contains(b.store.Dirs(), s.dir) || !s.dir.Failed(s.cause) {
				continue
			}
			if err := b.loseDir(s.dir, s.cause); err != nil {
				b.fail(err)
				return
			}
		}
	}
}

// loseDir takes a log dir offline with all its partitions; they answer KAFKA_STORAGE_ERROR and have no leader, while the rest
// goes on. An error means that the broker cannot go on: no other log dir is left, or the metadata log was in this one.
func (b *Broker) loseDir(dir *logstore.Dir, cause error) error {
	b.log.Error("Error in log dir "+dir.Path+": "+cause.Error(), "logger", "org.apache.kafka.storage.internals.log.LogDirFailureChannel")
	b.log.Warn("Stopping serving logs in dir "+dir.Path, "logger", logManager)
	if len(b.store.Dirs()) == 1 {
		return fmt.Errorf("shutdown broker because all log dirs in %s have failed", strings.Join(b.config.LogDirs(), ", "))
	}
	if filepath.Clean(b.config.MetadataLogDir()) == filepath.Clean(dir.Path) {
		return fmt.Errorf("shutdown broker because the metadata log dir %s has failed", dir.Path)
	}
	var lost []logstore.TopicPartition
	for _, log := range b.store.Logs() {
		if b.store.LogDir(log.TopicPartition()) == dir {
			lost = append(lost, log.TopicPartition())
		}
	}
	b.partitions.TakeOffline(lost)
	lost = b.store.TakeOffline(dir)
	b.partitions.TakeOffline(lost) // those that were made meanwhile too
	names := make([]string, len(lost))
	for i, tp := range lost {
		names[i] = tp.String()
		switch tp.Topic {
		case offsetsTopic:
			b.groups.Resign(tp.Partition)
		case transactionTopic:
			b.transactions.Resign(tp.Partition)
		}
	}
	slices.Sort(names)
	b.log.Warn("Logs for partitions "+strings.Join(names, ",")+" are offline and logs for future partitions  are offline due to failure on log directory "+
		dir.Path, "logger", logManager)
	if err := errors.Join(b.assignDirectories(), b.meta.DirectoryOffline(dir.DirectoryID)); err != nil {
		b.log.Error(fmt.Sprintf("The metadata does not say that %s is offline: %v", dir.Path, err), "logger", "org.apache.kafka.server.AssignmentsManager")
		return nil
	}
	b.log.Warn(fmt.Sprintf("[QuorumController id=%d] Directories [%s] in broker %d marked offline, remaining directories: [%s]", b.config.NodeID(),
		dir.DirectoryID, b.config.NodeID(), directoryIDs(b.store.Dirs())), "logger", "org.apache.kafka.controller.ReplicationControlManager")
	return nil
}

// metadataFailed ends the broker when its metadata log takes nothing more, as Kafka's fault handler does.
func (b *Broker) metadataFailed(cause error) {
	b.log.Error("Encountered fatal fault: Unexpected error in raft IO thread", "error", cause, "logger", "org.apache.kafka.server.fault.ProcessTerminatingFaultHandler")
	b.fail(fmt.Errorf("shutdown broker because the metadata log cannot be written: %w", cause))
}

// fail tells that the broker cannot go on. The first reason is told; nobody waits with another.
func (b *Broker) fail(err error) {
	select {
	case b.failed <- err:
	default: // it ends already
	}
}

func directoryIDs(dirs []*logstore.Dir) string {
	ids := make([]string, len(dirs))
	for i, d := range dirs {
		ids[i] = d.DirectoryID.String()
	}
	return strings.Join(ids, ", ")
}

// Failed gives the error, at most one, after which the broker cannot go on: its last log dir or its metadata log has failed. The caller is to
// end it with Abort, as Kafka halts.
func (b *Broker) Failed() <-chan error { return b.failed }
