package minibroker

import (
	"errors"
	"fmt"

	"minibroker/config"
	"minibroker/logstore"
	"minibroker/metadata"
)

// topicConfig gives the settings of a topic's logs as they are now.
func (b *Broker) topicConfig(topic string) logstore.Config {
	return logConfig(b.layers(), b.meta.Image().Config(metadata.ResourceTopic, topic))
}

// adoptLogs brings the loaded logs and the metadata together: directories that the cluster does not know are set aside,
// partitions without a directory get an empty one, and each partition's leader epoch begins.
func (b *Broker) adoptLogs() error {
	image := b.meta.Image()
	for _, log := range b.store.Logs() {
		tp := log.TopicPartition()
		topic, ok := image.Topic(tp.Topic)
		known := ok && int(tp.Partition) < len(topic.Partitions)
		if known && topic.ID == log.TopicID() {
			continue
		}
		if known && log.TopicID() == (logstore.UUID{}) {
			b.log.Warn(fmt.Sprintf("%s had no partition.metadata; it is written again for topic id %s", log.Dir(), topic.ID),
				"logger", "org.apache.kafka.storage.internals.log.LogManager")
			if err := log.AdoptTopicID(topic.ID); err != nil {
				return err
			}
			continue
		}
		b.log.Warn(fmt.Sprintf("Found stray log dir %s: the topicId %s of the directory is not in the metadata", log.Dir(), log.TopicID()),
			"logger", "org.apache.kafka.storage.internals.log.LogManager")
		if err := b.store.Stray(tp); err != nil {
			return err
		}
	}
	for _, topic := range image.Topics() {
		if err := b.addPartitions(topic, 0); err != nil {
			return err
		}
	}
	return nil
}

// addPartitions makes the topic's partitions from number first on usable; those that have no log yet get one.
func (b *Broker) addPartitions(topic *metadata.Topic, first int) error {
	cfg := b.topicConfig(topic.Name)
	for _, p := range topic.Partitions[first:] {
		tp := logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}
		log := b.store.Log(tp)
		if log == nil {
			var err error
			if log, err = b.store.Create(tp, topic.ID, nil, cfg); err != nil {
				return fmt.Errorf("create partition %s: %w", tp, err)
			}
		}
		if _, err := b.partitions.Add(log, p.LeaderEpoch); err != nil {
			return fmt.Errorf("lead partition %s: %w", tp, err)
		}
	}
	return b.leadGroups(topic, first)
}

// onChange follows a change of the metadata: it runs before the change is answered, so that what an answer reports can
// be used at once. It does not run for the changes of the start, which adoptLogs follows.
func (b *Broker) onChange(old, image *metadata.Image) error {
	if b.partitions == nil {
		return nil
	}
	if err := b.formatting.wait(); err != nil {
		return fmt.Errorf("sync the new data directories: %w", err)
	}
	var errs []error
	changes := image.TopicChanges(old)
	for _, c := range changes {
		if c.Old != nil && (c.New == nil || c.New.ID != c.Old.ID) {
			errs = append(errs, b.removePartitions(c.Old))
		}
	}
	for _, c := range changes {
		switch {
		case c.New == nil:
		case c.Old == nil || c.Old.ID != c.New.ID:
			errs = append(errs, b.addPartitions(c.New, 0))
		case len(c.Old.Partitions) < len(c.New.Partitions):
			errs = append(errs, b.addPartitions(c.New, len(c.Old.Partitions)))
		}
	}
	b.followSettings(old, image)
	b.wakeCleaner()
	return errors.Join(errs...)
}

// followSettings gives changed settings to the logs they concern: a topic's to its own logs, a broker's to all.
func (b *Broker) followSettings(old, image *metadata.Image) {
	layers := layersOf(b.config, image)
	for _, r := range image.ConfigChanges(old) {
		switch r.Kind {
		case metadata.ResourceTopic:
			if topic, ok := image.Topic(r.Name); ok {
				b.configureLogs(layers, image, topic)
			}
		case metadata.ResourceBroker:
			for _, topic := range image.Topics() {
				b.configureLogs(layers, image, topic)
			}
			return
		}
	}
}

func (b *Broker) configureLogs(layers config.Layers, image *metadata.Image, topic *metadata.Topic) {
	cfg := logConfig(layers, image.Config(metadata.ResourceTopic, topic.Name))
	for _, p := range topic.Partitions {
		if log := b.store.Log(logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}); log != nil {
			log.SetConfig(cfg)
		}
	}
}

func (b *Broker) removePartitions(topic *metadata.Topic) error {
	errs := []error{b.resignGroups(topic)}
	for _, p := range topic.Partitions {
		tp := logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}
		b.partitions.Remove(tp)
		if err := b.store.Delete(tp); err != nil {
			errs = append(errs, fmt.Errorf("delete partition %s: %w", tp, err))
		}
	}
	return errors.Join(errs...)
}
