package metadata

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"minibroker/logstore"
)

// NewTopic is a topic to be created.
type NewTopic struct {
	Name        string
	ID          logstore.UUID // zero: a new one is made
	Partitions  int           // number of partitions on this node; not looked at with Assignments
	Assignments [][]int32     // the replicas of each partition
	Configs     map[string]string
}

// ConfigChange sets or removes one setting.
type ConfigChange struct {
	Kind  ResourceKind
	Name  string // of the resource
	Key   string
	Value *string // nil removes the setting
}

// unassignedDir says that the broker has not chosen a log dir yet.
func unassignedDir() logstore.UUID { return logstore.UUID{15: 1} }

// CreateTopics creates all the topics, or none, in one batch: for each the
// topic, its settings by name, its partitions. ErrTopicExists names the topic
// that is there already.
func (s *Store) CreateTopics(topics []NewTopic) ([]*Topic, error) {
	topics = slices.Clone(topics)
	if err := s.update(func(i *Image) ([]Record, error) { return s.creation(i, topics) }); err != nil {
		return nil, err
	}
	image := s.Image()
	created := make([]*Topic, 0, len(topics))
	for _, t := range topics {
		if topic, ok := image.TopicByID(t.ID); ok { // else it was deleted meanwhile
			created = append(created, topic)
		}
	}
	return created, nil
}

// creation makes the records of new topics and fills in their ids.
func (s *Store) creation(i *Image, topics []NewTopic) ([]Record, error) {
	var records []Record
	seen := make(map[string]bool, len(topics))
	for n := range topics {
		t := &topics[n]
		if _, exists := i.Topic(t.Name); exists || seen[t.Name] {
			return nil, fmt.Errorf("%w: %s", ErrTopicExists, t.Name)
		}
		seen[t.Name] = true
		if t.ID.IsZero() {
			t.ID = logstore.NewUUID()
		}
		if t.Name == "" {
			return nil, fmt.Errorf("%w: topic without a name", ErrInvalidChange)
		}
		replicas := t.Assignments
		if replicas == nil {
			replicas = s.assign(t.Partitions)
		}
		if len(replicas) == 0 {
			return nil, fmt.Errorf("%w: topic %s without partitions", ErrInvalidChange, t.Name)
		}
		records = append(records, &TopicRecord{Name: t.Name, TopicID: t.ID})
		records = append(records, configRecordsOf(i, t)...)
		for number, ids := range replicas {
			p, err := s.partition(i, t.ID, int32(number), ids)
			if err != nil {
				return nil, fmt.Errorf("topic %s: %w", t.Name, err)
			}
			records = append(records, p)
		}
		if len(records) > maxBatchRecords {
			return nil, fmt.Errorf("%w: more than %d", ErrTooManyRecords, maxBatchRecords)
		}
	}
	return records, nil
}

func configRecordsOf(i *Image, t *NewTopic) []Record {
	var records []Record
	for _, key := range slices.Sorted(maps.Keys(t.Configs)) {
		value := t.Configs[key]
		records = append(records, &ConfigRecord{ResourceType: ResourceTopic, ResourceName: t.Name, Name: key, Value: &value})
	}
	return append(records, clearELRFor(i, records)...)
}

// clearELRFor makes the records that follow settings: a new min.insync.replicas
// makes what is known of eligible replicas worthless.
func clearELRFor(i *Image, settings []Record) []Record {
	var records []Record
	if !i.elrEnabled() {
		return nil
	}
	for _, r := range settings {
		c, ok := r.(*ConfigRecord)
		if !ok || c.Name != minISRKey {
			continue
		}
		clear := &ClearElrRecord{}
		if c.ResourceType == ResourceTopic {
			clear.TopicName = c.ResourceName
		}
		records = append(records, clear)
	}
	return records
}

// assign puts n partitions on this node.
func (s *Store) assign(n int) [][]int32 {
	if n <= 0 || n > maxBatchRecords {
		n = max(0, min(n, maxBatchRecords+1)) // creation refuses it; no memory for it
	}
	replicas := make([][]int32, n)
	for i := range replicas {
		replicas[i] = []int32{s.o.NodeID}
	}
	return replicas
}

// partition makes the record of a new partition.
func (s *Store) partition(i *Image, topic logstore.UUID, number int32, replicas []int32) (*PartitionRecord, error) {
	isr := []int32{}
	dirs := make([]logstore.UUID, len(replicas))
	for n, id := range replicas {
		if slices.Contains(replicas[:n], id) {
			return nil, fmt.Errorf("%w: partition %d has broker %d twice", ErrInvalidChange, number, id)
		}
		if i.alive(id) {
			isr = append(isr, id)
		}
		dirs[n] = unassignedDir()
		if id == s.o.NodeID && len(s.o.DirectoryIDs) == 1 {
			dirs[n] = s.o.DirectoryIDs[0]
		}
	}
	if len(isr) == 0 {
		return nil, fmt.Errorf("%w: partition %d has no replica on a broker that is up", ErrInvalidChange, number)
	}
	return &PartitionRecord{
		PartitionID: number, TopicID: topic, Replicas: slices.Clone(replicas), ISR: isr, RemovingReplicas: []int32{}, AddingReplicas: []int32{},
		Leader: isr[0], Directories: dirs,
	}, nil
}

// CreatePartitions raises the number of a topic's partitions to count.
func (s *Store) CreatePartitions(topic string, count int) error {
	return s.update(func(i *Image) ([]Record, error) {
		t, ok := i.Topic(topic)
		if !ok {
			return nil, fmt.Errorf("%w: %s", ErrUnknownTopic, topic)
		}
		have := len(t.Partitions)
		if count <= have {
			return nil, fmt.Errorf("%w: topic %s has %d partitions, %d wanted", ErrInvalidChange, topic, have, count)
		}
		var records []Record
		for n, ids := range s.assign(count - have) {
			p, err := s.partition(i, t.ID, int32(have+n), ids)
			if err != nil {
				return nil, fmt.Errorf("topic %s: %w", topic, err)
			}
			records = append(records, p)
		}
		return records, nil
	})
}

// DeleteTopics deletes all the topics, or none. ErrUnknownTopic when one of
// them is not there.
func (s *Store) DeleteTopics(ids []logstore.UUID) error {
	return s.update(func(i *Image) ([]Record, error) {
		var records []Record
		seen := make(map[logstore.UUID]bool, len(ids))
		for _, id := range ids {
			if _, ok := i.TopicByID(id); !ok || seen[id] {
				return nil, fmt.Errorf("%w: id %s", ErrUnknownTopic, id)
			}
			seen[id] = true
			records = append(records, &RemoveTopicRecord{TopicID: id})
		}
		return records, nil
	})
}

// AlterConfigs applies all the changes, or none. ErrUnknownTopic when it
// concerns a topic that is not there.
//
// Where unclean.leader.election.enable becomes true, partitions without a
// leader get one before it returns. Kafka 4.4.0 looks for them every 5 minutes.
func (s *Store) AlterConfigs(changes []ConfigChange) error {
	if err := s.alterConfigs(changes); err != nil {
		return err
	}
	if slices.ContainsFunc(changes, func(c ConfigChange) bool { return c.Key == uncleanKey }) {
		return s.electAllowed()
	}
	return nil
}

func (s *Store) alterConfigs(changes []ConfigChange) error {
	return s.update(func(i *Image) ([]Record, error) {
		var records []Record
		for _, c := range changes {
			if c.Kind == ResourceTopic {
				if _, ok := i.Topic(c.Name); !ok {
					return nil, fmt.Errorf("%w: %s", ErrUnknownTopic, c.Name)
				}
			}
			records = append(records, &ConfigRecord{ResourceType: c.Kind, ResourceName: c.Name, Name: c.Key, Value: c.Value})
		}
		return append(records, clearELRFor(i, records)...), nil
	})
}

// producerIDBlock is the number of producer ids given out at a time.
const producerIDBlock = 1000

// AllocateProducerIDs gives out a block of n producer ids, the first of which
// is first. No other call, of this process or of an earlier one, gets them.
func (s *Store) AllocateProducerIDs() (first, n int64, err error) {
	err = s.update(func(i *Image) ([]Record, error) {
		first = i.NextProducerID
		if first < 0 || first > int64(1)<<62 {
			return nil, errors.New("producer ids are used up")
		}
		return []Record{&ProducerIDsRecord{BrokerID: s.o.NodeID, BrokerEpoch: i.BrokerEpoch, NextProducerID: first + producerIDBlock}}, nil
	})
	return first, producerIDBlock, err
}

// DirectoryAssignment says in which log dir this node's replica of a partition
// is.
type DirectoryAssignment struct {
	TopicID   logstore.UUID
	Partition int32
	Directory logstore.UUID
}

// AssignDirectories notes the log dirs of this node's replicas. It is needed
// with more than one log dir only; Kafka's broker does it some time after a
// partition was made. What is noted already, or was deleted, is left out.
func (s *Store) AssignDirectories(assignments []DirectoryAssignment) error {
	return s.update(func(i *Image) ([]Record, error) {
		var records []Record
		for _, a := range assignments {
			t, ok := i.TopicByID(a.TopicID)
			if !ok || a.Partition < 0 || int(a.Partition) >= len(t.Partitions) {
				continue
			}
			p := &t.Partitions[a.Partition]
			at := slices.Index(p.Replicas, s.o.NodeID)
			if at < 0 || at < len(p.Directories) && p.Directories[at] == a.Directory {
				continue
			}
			r := newPartitionChange(t.ID, p.ID)
			r.Directories = slices.Clone(p.Directories)
			for len(r.Directories) < len(p.Replicas) {
				r.Directories = append(r.Directories, unassignedDir())
			}
			r.Directories[at] = a.Directory
			records = append(records, r)
		}
		return records, nil
	})
}
