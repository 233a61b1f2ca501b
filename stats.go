package minibroker

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/server"
	"minibroker/telemetry"
)

// Stats is what a broker tells of itself at one moment; the parts are taken one after another, while it works.
type Stats struct {
	NodeID, BrokerState int32 // the state as Kafka numbers it: 3 is running
	ClusterID           string
	Address             string // advertised, of the first listener, as host:port
	LeaderEpoch         int32  // of the controller
	MetadataEnd         int64  // offset that the next metadata record gets
	UncleanElections    int64  // since the start
	OfflineDirs         int

	Topics      []TopicStats                 // sorted by name
	Traffic     map[string]partition.Traffic // by topic
	AllTraffic  partition.Traffic            // of topics that are gone, too
	Groups      []GroupStats                 // sorted by id; nil where there is no coordinator yet
	Connections []server.Connections
	Telemetry   telemetry.Stats // what clients pushed of their own metrics
	// NetworkThreads and HandlerThreads are num.network.threads and num.io.threads, to which Kafka compares how busy it is.
	NetworkThreads, HandlerThreads int
}

// TopicStats is one topic.
type TopicStats struct {
	Name       string
	Partitions []PartitionStats
}

// PartitionStats is one partition. Offsets and sizes are -1 for one that is not served here.
type PartitionStats struct {
	ID, Leader                      int32
	Replicas, InSync                int
	MinInSync                       int  // min.insync.replicas, at most Replicas
	Preferred                       bool // the leader is the first replica
	Served                          bool
	StartOffset, EndOffset          int64
	HighWatermark, LastStableOffset int64
	SizeBytes                       int64
	Segments                        int
}

// GroupStats is one group.
type GroupStats struct {
	ID, State string
	Members   int
	Offsets   []OffsetStats // by topic and partition
}

// OffsetStats is how far a group has read a partition. Lag is what is left up to the high watermark, -1 for a partition that is
// not served here.
type OffsetStats struct {
	Topic     string
	Partition int32
	Offset    int64
	Lag       int64
}

// brokerRunning is RUNNING as Kafka numbers the states of a broker.
const brokerRunning = 3

// Stats tells how the broker is doing.
func (b *Broker) Stats() Stats {
	image := b.meta.Image()
	s := Stats{
		NodeID: b.config.NodeID(), BrokerState: brokerRunning, ClusterID: image.ClusterID,
		Telemetry:   b.telemetry(),
		LeaderEpoch: b.meta.LeaderEpoch(), MetadataEnd: image.LastOffset + 1, UncleanElections: b.uncleanElections.Load(),
		OfflineDirs: len(b.store.OfflineDirs()), Connections: b.server.Connections(),
		NetworkThreads: b.config.Int("num.network.threads"), HandlerThreads: b.layers().Int("num.io.threads"),
	}
	if bound := b.bound(); len(bound) > 0 {
		host, port := bound[0].advertised()
		s.Address = net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	s.Traffic, s.AllTraffic = b.partitions.Traffic()
	for _, t := range image.Topics() {
		s.Topics = append(s.Topics, b.topicStats(image, t))
	}
	s.Groups = b.groupStats(image)
	return s
}

func (b *Broker) topicStats(image *metadata.Image, t *metadata.Topic) TopicStats {
	s := TopicStats{Name: t.Name, Partitions: make([]PartitionStats, len(t.Partitions))}
	minISR := b.minInSync(image, t.Name)
	for i := range t.Partitions {
		m := &t.Partitions[i]
		p := PartitionStats{
			ID: m.ID, Leader: m.Leader, Replicas: len(m.Replicas), InSync: len(m.ISR), MinInSync: min(minISR, len(m.Replicas)),
			Preferred:   len(m.Replicas) > 0 && m.Leader == m.Replicas[0],
			StartOffset: -1, EndOffset: -1, HighWatermark: -1, LastStableOffset: -1, SizeBytes: -1,
		}
		if led, err := b.partitions.Get(logstore.TopicPartition{Topic: t.Name, Partition: m.ID}); err == nil {
			log := led.Log()
			p.Served = true
			p.StartOffset, p.HighWatermark, p.LastStableOffset = led.LogStartOffset(), led.HighWatermark(), led.LastStableOffset()
			p.EndOffset, p.SizeBytes, p.Segments = led.EndOffset(), log.Size(), len(log.Segments())
		}
		s.Partitions[i] = p
	}
	return s
}

func (b *Broker) groupStats(image *metadata.Image) []GroupStats {
	listed, err := b.groups.List(nil, nil)
	if err != nil {
		return nil // there is no coordinator, so there are no groups
	}
	all := make([]GroupStats, 0, len(listed))
	for i := range listed {
		g := GroupStats{ID: listed[i].ID, State: listed[i].State, Members: b.memberCount(&listed[i])}
		offsets, err := b.groups.FetchAll(&group.FetchRequest{GroupID: g.ID, MemberEpoch: -1})
		if err != nil {
			continue // it went away meanwhile
		}
		for j := range offsets {
			g.Offsets = append(g.Offsets, b.offsetStats(image, &offsets[j]))
		}
		slices.SortFunc(g.Offsets, func(a, b OffsetStats) int {
			return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b GroupStats) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (b *Broker) memberCount(g *group.Listed) int {
	if g.Kind == group.Consumer {
		if d, err := b.groups.ConsumerDescribe(g.ID); err == nil {
			return len(d.Members)
		}
		return 0
	}
	if d, err := b.groups.Describe(g.ID); err == nil {
		return len(d.Members)
	}
	return 0
}

func (b *Broker) offsetStats(image *metadata.Image, f *group.Fetched) OffsetStats {
	s := OffsetStats{Topic: f.Topic, Partition: f.Partition, Offset: f.Offset.Offset, Lag: -1}
	if t, ok := image.TopicByID(f.TopicID); ok {
		s.Topic = t.Name
	}
	if p, err := b.partitions.Get(logstore.TopicPartition{Topic: s.Topic, Partition: s.Partition}); err == nil && s.Offset >= 0 {
		s.Lag = max(p.HighWatermark()-s.Offset, 0)
	}
	return s
}

// minInSync is min.insync.replicas of a topic. A value is checked before it is stored.
func (b *Broker) minInSync(image *metadata.Image, topic string) int {
	if n, err := strconv.Atoi(image.Config(metadata.ResourceTopic, topic)["min.insync.replicas"]); err == nil {
		return n
	}
	return b.layers().Int("min.insync.replicas")
}

// What keeps a broker from being ready.
var (
	// ErrStopping: it is being closed.
	ErrStopping = errors.New("the broker is stopping")
	// ErrOffline: a log dir has failed; the others go on.
	ErrOffline = errors.New("log dirs are offline")
)

// Ready says whether the broker serves all that it should. Errors: ErrStopping, ErrOffline.
func (b *Broker) Ready() error {
	if b.stopping.Load() {
		return ErrStopping
	}
	if dirs := b.store.OfflineDirs(); len(dirs) > 0 {
		return fmt.Errorf("%w: %s", ErrOffline, strings.Join(dirs, ", "))
	}
	return nil
}
