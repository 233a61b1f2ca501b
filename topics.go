package minibroker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minibroker/config"
	"minibroker/logstore"
	"minibroker/metadata"
)

// topicConfigs gives the settings of topics' logs by one image. Most topics have none of their own, so that these are worked
// out once.
type topicConfigs struct {
	image  *metadata.Image
	layers config.Layers
	plain  func() logstore.Config
}

func (b *Broker) topicConfigs() *topicConfigs {
	image := b.meta.Image()
	layers := layersOf(b.config, image)
	return &topicConfigs{image: image, layers: layers, plain: sync.OnceValue(func() logstore.Config { return logConfig(layers, nil) })}
}

func (c *topicConfigs) of(topic string) logstore.Config {
	overrides := c.image.Config(metadata.ResourceTopic, topic)
	if len(overrides) == 0 {
		return c.plain()
	}
	return logConfig(c.layers, overrides)
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
	var added []addition
	for _, topic := range image.Topics() {
		added = append(added, addition{topic, 0})
	}
	return b.addPartitions(added)
}

// addition is the partitions of a topic from number first on.
type addition struct {
	topic *metadata.Topic
	first int
}

// syncsAtOnce is how many partitions are made usable side by side: each waits for a few small syncs, which a file system
// does together much faster than one after another.
const syncsAtOnce = 16

// addPartitions makes partitions usable; those that have no log yet get one. The coordinators follow when all are there.
func (b *Broker) addPartitions(added []addition) error {
	type place struct{ topic, partition int }
	var places []place
	configs := b.topicConfigs()
	for i, a := range added {
		for n := a.first; n < len(a.topic.Partitions); n++ {
			places = append(places, place{i, n})
		}
	}
	errs := make([][]error, len(added)) // of a topic that all went well with there are none
	var mu sync.Mutex
	sideBySide(syncsAtOnce, len(places), func(at int) {
		i, n := places[at].topic, places[at].partition
		topic := added[i].topic
		if err := b.addPartition(topic, &topic.Partitions[n], configs.of(topic.Name)); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs[i] = append(errs[i], err)
		}
	})
	for i, a := range added {
		if err := errors.Join(errs[i]...); err != nil {
			return err
		}
		if err := b.leadCoordinators(a.topic, a.first); err != nil {
			return err
		}
	}
	return nil
}

// sideBySide calls do for 0 to n-1, in at most most goroutines, and returns when all calls have.
func sideBySide(most, n int, do func(at int)) {
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(most, n) {
		work.Go(func() {
			for at := int(next.Add(1)) - 1; at < n; at = int(next.Add(1)) - 1 {
				do(at)
			}
		})
	}
	work.Wait()
}

// addPartition makes one partition usable.
func (b *Broker) addPartition(topic *metadata.Topic, p *metadata.Partition, cfg logstore.Config) error {
	if !slices.Contains(p.Replicas, b.config.NodeID()) {
		return nil // a former cluster kept it elsewhere
	}
	tp := logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}
	log := b.store.Log(tp)
	if log == nil && b.isOffline(p) {
		b.partitions.SetOffline(tp)
		return nil
	}
	if log == nil {
		b.reportLoss(tp, p)
		var err error
		if log, err = b.store.Create(tp, topic.ID, b.placeOf(p), cfg); err != nil {
			return fmt.Errorf("create partition %s: %w", tp, err)
		}
	}
	b.noteDirectory(topic, p)
	if p.Leader != b.config.NodeID() {
		b.log.Warn(fmt.Sprintf("%s has no leader: broker %d led it last or was in sync with who did, and this node was not. "+
			"Set unclean.leader.election.enable=true for the topic to serve what is here", tp, otherReplica(p, b.config.NodeID())),
			"logger", "state.change.logger")
		return nil
	}
	lead := b.partitions.Add
	if b.server == nil {
		lead = b.partitions.Resume // settleLoads follows
	}
	if _, err := lead(log, p.LeaderEpoch); err != nil {
		return fmt.Errorf("lead partition %s: %w", tp, err)
	}
	return nil
}

// settleAfter is how long the first requests of a start have the processors to themselves: clients that waited for the broker
// come all at once.
const settleAfter = time.Second

// settleLoads writes what the start has left for later: the full size of indexes, the leader epochs that it began, and
// snapshots of recovered logs. Nothing waits for it.
func (b *Broker) settleLoads(ctx context.Context) {
	select {
	case <-ctx.Done():
		return // closing a log settles it too
	case <-time.After(settleAfter):
	}
	logs := b.store.Logs()
	sideBySide(syncsAtOnce, len(logs), func(at int) {
		if ctx.Err() != nil {
			return
		}
		if err := logs[at].SettleLoad(); err != nil {
			b.log.Error(err.Error()+"; it is tried again at the next flush", "logger", "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache")
		}
	})
}

// reportLoss says that a partition that was there before has no directory after a clean stop.
func (b *Broker) reportLoss(tp logstore.TopicPartition, p *metadata.Partition) {
	clean := !slices.ContainsFunc(b.store.Dirs(), func(d *logstore.Dir) bool { return !d.Clean })
	if b.server == nil && clean && p.PartitionEpoch > 0 {
		b.log.Warn(fmt.Sprintf("%s has no directory in %v although the last stop was clean: it begins empty. Stop and restore the directory if it was removed by mistake",
			tp, b.config.LogDirs()), "logger", "org.apache.kafka.storage.internals.log.LogManager")
	}
}

// otherReplica is a broker that has the partition too: one in sync if there is one, -1 if it is nobody else's.
func otherReplica(p *metadata.Partition, self int32) int32 {
	for _, id := range slices.Concat(p.ISR, p.ELR, p.LastKnownELR, p.Replicas) {
		if id != self {
			return id
		}
	}
	return -1
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
	var removed []*metadata.Topic
	for _, c := range changes {
		if c.Old != nil && (c.New == nil || c.New.ID != c.Old.ID) {
			removed = append(removed, c.Old)
		}
	}
	errs = append(errs, b.removePartitions(removed))
	var added []addition
	for _, c := range changes {
		switch {
		case c.New == nil:
		case c.Old == nil || c.Old.ID != c.New.ID:
			added = append(added, addition{c.New, 0})
		case len(c.Old.Partitions) < len(c.New.Partitions):
			added = append(added, addition{c.New, len(c.Old.Partitions)})
			errs = append(errs, b.leadElected(c.Old, c.New))
		default:
			errs = append(errs, b.leadElected(c.Old, c.New))
		}
	}
	errs = append(errs, b.addPartitions(added))
	settings := b.followSettings(old, image)
	if settings {
		b.followListeners(layersOf(b.config, image))
	}
	b.followLimits(old, image, settings)
	b.wakeCleaner()
	return errors.Join(errs...)
}

// followSettings gives changed settings to the logs they concern: a topic's to its own logs, a broker's to all. It reports
// whether settings of brokers changed.
func (b *Broker) followSettings(old, image *metadata.Image) bool {
	layers := layersOf(b.config, image)
	for _, r := range image.ConfigChanges(old) {
		switch r.Kind {
		case metadata.ResourceTopic:
			if topic, ok := image.Topic(r.Name); ok {
				b.configureLogs(layers, image, topic)
			}
		case metadata.ResourceBroker:
			b.store.SetDeleteDelay(layers.Long("log.segment.delete.delay.ms"))
			for _, topic := range image.Topics() {
				b.configureLogs(layers, image, topic)
			}
			return true
		}
	}
	return false
}

func (b *Broker) configureLogs(layers config.Layers, image *metadata.Image, topic *metadata.Topic) {
	cfg := logConfig(layers, image.Config(metadata.ResourceTopic, topic.Name))
	for _, p := range topic.Partitions {
		if log := b.store.Log(logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}); log != nil {
			log.SetConfig(cfg)
		}
	}
}

// removePartitions lets go of the partitions of topics that were deleted, all at once: each sync of theirs makes everyone
// wait who changes topics.
func (b *Broker) removePartitions(topics []*metadata.Topic) error {
	var errs []error
	var stored []logstore.TopicPartition
	for _, topic := range topics {
		errs = append(errs, b.resignGroups(topic))
		if topic.Name == transactionTopic {
			b.transactions.Forget()
		}
		for _, p := range topic.Partitions {
			tp := logstore.TopicPartition{Topic: topic.Name, Partition: p.ID}
			b.partitions.Remove(tp)
			if b.store.Log(tp) != nil { // else it was led by nobody, or its log dir failed
				stored = append(stored, tp)
			}
		}
	}
	if len(stored) > 0 {
		errs = append(errs, b.store.Delete(stored...))
	}
	return errors.Join(errs...)
}
