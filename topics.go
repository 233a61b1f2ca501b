package minibroker

import (
	"errors"
	"fmt"
	"maps"

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
		if ok && topic.ID == log.TopicID() && int(tp.Partition) < len(topic.Partitions) {
			continue
		}
		b.log.Warn(fmt.Sprintf("Found stray log dir %s: the topicId %s of the directory is not in the metadata", log.Dir(), log.TopicID()),
			"logger", "kafka.log.LogManager")
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
	return nil
}

// onChange follows a change of the metadata: it runs before the change is answered, so that what an answer reports can
// be used at once. It does not run for the changes of the start, which adoptLogs follows.
func (b *Broker) onChange(old, image *metadata.Image) error {
	if b.partitions == nil {
		return nil
	}
	var errs []error
	for _, topic := range old.Topics() {
		if now, ok := image.Topic(topic.Name); !ok || now.ID != topic.ID {
			errs = append(errs, b.removePartitions(topic))
		}
	}
	for _, topic := range image.Topics() {
		before, ok := old.Topic(topic.Name)
		switch {
		case !ok || before.ID != topic.ID:
			errs = append(errs, b.addPartitions(topic, 0))
		case len(before.Partitions) < len(topic.Partitions):
			errs = append(errs, b.addPartitions(topic, len(before.Partitions)))
		}
	}
	b.followSettings(old, image)
	return errors.Join(errs...)
}

// followSettings gives changed settings to the logs they concern: a topic's to its own logs, a broker's to all.
func (b *Broker) followSettings(old, image *metadata.Image) {
	before, now := layersOf(b.config, old), layersOf(b.config, image)
	all := !maps.Equal(before.ClusterDefault, now.ClusterDefault) || !maps.Equal(before.Node, now.Node)
	for _, topic := range image.Topics() {
		overrides := image.Config(metadata.ResourceTopic, topic.Name)
		if !all && maps.Equal(overrides, old.Config(metadata.ResourceTopic, topic.Name)) {
			continue
		}
		cfg := logConfig(now, overrides)
		for _, p := range topic.Partitions {
			if log := b.store.Log(logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}); log != nil {
				log.SetConfig(cfg)
			}
		}
	}
}

func (b *Broker) removePartitions(topic *metadata.Topic) error {
	var errs []error
	for _, p := range topic.Partitions {
		tp := logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}
		b.partitions.Remove(tp)
		if err := b.store.Delete(tp); err != nil {
			errs = append(errs, fmt.Errorf("delete partition %s: %w", tp, err))
		}
	}
	return errors.Join(errs...)
}
