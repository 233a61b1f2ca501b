package minibroker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
)

// NodeIDOf is the node id that a data directory was made for; ok is false when it does not say.
func NodeIDOf(dir string) (id int32, ok bool, err error) {
	if info, err := vfs.OS().Stat(dir); err != nil {
		return 0, false, err
	} else if !info.IsDir() {
		return 0, false, fmt.Errorf("%s is no directory", dir)
	}
	meta, err := logstore.ReadMetaProperties(vfs.OS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	return meta.NodeID, err == nil, err
}

// protect puts a layer in memory over the data directories that takes all writes: below it nothing can be changed.
func (b *Broker) protect() error {
	for _, dir := range b.config.LogDirs() {
		if _, err := b.fs.Stat(dir); err != nil {
			return fmt.Errorf("show %s read-only: %w", dir, err)
		}
		if err := b.warnOfUse(dir); err != nil {
			return fmt.Errorf("show %s read-only: %w", dir, err)
		}
	}
	b.fs = vfs.NewOverlay(vfs.NewReadOnly(b.fs))
	return nil
}

// warnOfUse warns when somebody writes to a directory that is to be shown: its state is read at one moment, while files change.
func (b *Broker) warnOfUse(dir string) error {
	watcher, ok := b.fs.(vfs.LockWatcher)
	if !ok {
		return nil
	}
	pid, err := watcher.Holder(logstore.LockFile(dir))
	if errors.Is(err, fs.ErrPermission) {
		return nil // nor would it be there for us to read
	}
	if err == nil && pid != 0 {
		b.log.Warn(fmt.Sprintf("%s is in use by process %d, a Kafka or minibroker: what it writes from now on is not shown, or in part. Stop it, or show a copy",
			dir, pid), "logger", "org.apache.kafka.storage.internals.log.LogManager")
	}
	return err
}

// openReadOnly opens what is there for readers. What a start repairs, it repairs in memory.
func (b *Broker) openReadOnly(ctx context.Context) (err error) {
	if err := b.protect(); err != nil {
		return err
	}
	if b.store, err = logstore.Open(b.storeOptions()); err != nil {
		return err
	}
	b.store.SurveyAhead() // while the metadata is read, which the load waits for
	if b.meta, err = metadata.OpenReadOnly(b.metadataOptions()); err != nil {
		return err
	}
	if err := b.store.Load(ctx); err != nil {
		return err
	}
	var held []metadata.Held
	for _, log := range b.store.Logs() {
		tp := log.TopicPartition()
		h := metadata.Held{Topic: tp.Topic, Partition: tp.Partition, ID: log.TopicID()}
		if epoch, ok := log.LatestEpoch(); ok {
			h.LeaderEpoch = epoch
		}
		held = append(held, h)
	}
	return b.meta.ShowHeld(held)
}

// showLogs lets readers at the logs that belong to the topics shown.
func (b *Broker) showLogs() error {
	image := b.meta.Image()
	for _, log := range b.store.Logs() {
		tp := log.TopicPartition()
		topic, ok := image.Topic(tp.Topic)
		if !ok || int(tp.Partition) >= len(topic.Partitions) || log.TopicID() != topic.ID && !log.TopicID().IsZero() {
			b.log.Warn(fmt.Sprintf("%s is not shown: its topic id %s is not that of a topic in the metadata", log.Dir(), log.TopicID()),
				"logger", "org.apache.kafka.storage.internals.log.LogManager")
			continue
		}
		if _, err := b.partitions.Add(log, topic.Partitions[tp.Partition].LeaderEpoch); err != nil {
			return err
		}
	}
	for _, topic := range image.Topics() {
		if err := b.leadCoordinators(topic, 0); err != nil {
			return err
		}
	}
	return nil
}
