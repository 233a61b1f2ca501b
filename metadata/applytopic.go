package metadata

import (
	"fmt"
	"slices"

	"minibroker/logstore"
)

// applyTopic applies the records about topics and partitions.
func (e *imageEdit) applyTopic(r Record) error {
	switch r := r.(type) {
	case *TopicRecord:
		return e.addTopic(r)
	case *RemoveTopicRecord:
		return e.removeTopic(r)
	case *PartitionRecord:
		return e.addPartition(r)
	case *PartitionChangeRecord:
		return e.changePartition(r)
	case *ClearElrRecord:
		return e.clearELR(r)
	}
	return nil
}

func (e *imageEdit) addTopic(r *TopicRecord) error {
	if t, ok := e.topics.get(r.Name); ok {
		return fmt.Errorf("%w: topic %s is created as %s, but exists as %s", ErrMalformed, r.Name, r.TopicID, t.ID)
	}
	if t, ok := e.topicIDs.get(r.TopicID); ok {
		return fmt.Errorf("%w: topic %s is created as %s, which is the id of %s", ErrMalformed, r.Name, r.TopicID, t.Name)
	}
	t := &Topic{Name: r.Name, ID: r.TopicID}
	e.topics.set(t.Name, t)
	e.topicIDs.set(t.ID, t)
	e.touch(t.Name, t.ID, t)
	return nil
}

func (e *imageEdit) removeTopic(r *RemoveTopicRecord) error {
	t, ok := e.topicIDs.get(r.TopicID)
	if !ok {
		return fmt.Errorf("%w: RemoveTopic of %s, which is no topic", ErrMalformed, r.TopicID)
	}
	e.topics.remove(t.Name)
	e.topicIDs.remove(t.ID)
	e.dropConfigs(Resource{ResourceTopic, t.Name})
	delete(e.early, t.ID)
	e.touch(t.Name, t.ID, nil)
	return nil
}

// topic returns the topic in a form that may be changed.
func (e *imageEdit) topic(id logstore.UUID, r Record) (*Topic, error) {
	if t, mine := e.own[id]; mine {
		return t, nil
	}
	old, ok := e.topicIDs.get(id)
	if !ok {
		return nil, fmt.Errorf("%w: %s record of topic %s, which is no topic", ErrMalformed, r.Key(), id)
	}
	if e.inPlace {
		return old, nil
	}
	t := &Topic{Name: old.Name, ID: old.ID, Partitions: slices.Clone(old.Partitions)}
	e.topics.set(t.Name, t)
	e.topicIDs.set(t.ID, t)
	e.touch(t.Name, id, t)
	return t, nil
}

// addPartition adds or replaces a partition. Partitions come in ascending
// order in all logs seen; others wait until the ones below are there.
func (e *imageEdit) addPartition(r *PartitionRecord) error {
	t, err := e.topic(r.TopicID, r)
	if err != nil {
		return err
	}
	if r.PartitionID < 0 {
		return fmt.Errorf("%w: partition %d of topic %s", ErrMalformed, r.PartitionID, t.Name)
	}
	p := Partition{
		ID: r.PartitionID, Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch, RecoveryState: r.LeaderRecoveryState,
		Replicas: r.Replicas, ISR: r.ISR, ELR: r.EligibleLeaderReplicas, LastKnownELR: r.LastKnownELR,
		Adding: r.AddingReplicas, Removing: r.RemovingReplicas, Directories: r.Directories,
	}
	switch number := int(p.ID); {
	case number < len(t.Partitions):
		t.Partitions[number] = p
	case number == len(t.Partitions):
		t.Partitions = append(t.Partitions, p)
		e.takeEarly(t)
	default:
		if e.early == nil {
			e.early = map[logstore.UUID]earlyPartitions{}
		}
		if e.early[t.ID] == nil {
			e.early[t.ID] = earlyPartitions{}
		}
		e.early[t.ID][p.ID] = p
	}
	return nil
}

// takeEarly appends the partitions that waited for the last one.
func (e *imageEdit) takeEarly(t *Topic) {
	waiting := e.early[t.ID]
	for len(waiting) > 0 {
		next := int32(len(t.Partitions))
		p, ok := waiting[next]
		if !ok {
			return
		}
		t.Partitions = append(t.Partitions, p)
		delete(waiting, next)
	}
	delete(e.early, t.ID)
}

func (e *imageEdit) changePartition(r *PartitionChangeRecord) error {
	t, err := e.topic(r.TopicID, r)
	if err != nil {
		return err
	}
	if r.PartitionID < 0 || int(r.PartitionID) >= len(t.Partitions) {
		return fmt.Errorf("%w: change of partition %d of topic %s, which has %d", ErrMalformed, r.PartitionID, t.Name, len(t.Partitions))
	}
	t.Partitions[r.PartitionID].change(r)
	return nil
}

// change applies a record to the partition. Lists are replaced, never written
// to, because images share them.
func (p *Partition) change(r *PartitionChangeRecord) {
	if r.ISR != nil {
		p.ISR = r.ISR
	}
	if r.Leader != NoLeaderChange {
		p.Leader = r.Leader
		p.LeaderEpoch++
	}
	p.PartitionEpoch++
	if r.Replicas != nil {
		p.Replicas = r.Replicas
	}
	if r.RemovingReplicas != nil {
		p.Removing = r.RemovingReplicas
	}
	if r.AddingReplicas != nil {
		p.Adding = r.AddingReplicas
	}
	if r.LeaderRecoveryState != noRecoveryChange {
		p.RecoveryState = r.LeaderRecoveryState
	}
	if r.EligibleLeaderReplicas != nil {
		p.ELR = r.EligibleLeaderReplicas
	}
	if r.LastKnownELR != nil {
		p.LastKnownELR = r.LastKnownELR
	}
	if r.Directories != nil {
		p.Directories = r.Directories
	}
}

// clearELR forgets the eligible leader replicas of one topic, or of all.
func (e *imageEdit) clearELR(r *ClearElrRecord) error {
	if r.TopicName != "" {
		t, ok := e.topics.get(r.TopicName)
		if !ok {
			return fmt.Errorf("%w: ClearElr of topic %s, which is no topic", ErrMalformed, r.TopicName)
		}
		return e.clearTopicELR(t.ID, r)
	}
	var ids []logstore.UUID
	for id := range e.topicIDs.all() {
		ids = append(ids, id)
	}
	for _, id := range ids {
		if err := e.clearTopicELR(id, r); err != nil {
			return err
		}
	}
	return nil
}

func (e *imageEdit) clearTopicELR(id logstore.UUID, r Record) error {
	old, _ := e.topicIDs.get(id)
	if !slices.ContainsFunc(old.Partitions, func(p Partition) bool { return len(p.ELR)+len(p.LastKnownELR) > 0 }) {
		return nil
	}
	t, err := e.topic(id, r)
	if err != nil {
		return err
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if len(p.ELR)+len(p.LastKnownELR) > 0 {
			p.ELR, p.LastKnownELR = nil, nil
			p.PartitionEpoch++
		}
	}
	return nil
}
