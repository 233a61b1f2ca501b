package metadata

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"minibroker/logstore"
)

// stateRecords are the records that make the image from nothing, in the order
// of Kafka's snapshots: features, brokers, controllers, topics, settings,
// quotas, producer ids, access control, SCRAM, delegation tokens. Within a
// kind Kafka's order is that of its hash maps; here it is sorted, but for
// quotas, whose order clients see.
func (i *Image) stateRecords() []Record {
	var out []Record
	add := func(r Record) { out = append(out, r) }
	if level := i.level(); level > 0 {
		add(&FeatureLevelRecord{Name: featureMetadataVersion, Level: level})
	}
	for _, name := range slices.Sorted(maps.Keys(i.Features)) {
		if name != featureMetadataVersion {
			add(&FeatureLevelRecord{Name: name, Level: i.Features[name]})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(i.brokers)) {
		add(i.brokers[id])
	}
	for _, id := range slices.Sorted(maps.Keys(i.controllers)) {
		add(i.controllers[id])
	}
	for _, t := range i.sorted {
		add(&TopicRecord{Name: t.Name, TopicID: t.ID})
		for n := range t.Partitions {
			add(t.Partitions[n].record(t.ID))
		}
	}
	i.configRecords(add)
	i.quotaRecords(add)
	if i.NextProducerID > 0 {
		add(&ProducerIDsRecord{BrokerID: -1, BrokerEpoch: -1, NextProducerID: i.NextProducerID})
	}
	for _, r := range sortedValues(i.acls, func(a, b logstore.UUID) int { return strings.Compare(string(a[:]), string(b[:])) }) {
		add(r)
	}
	for _, r := range sortedValues(i.scram, func(a, b ScramUser) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Mechanism, b.Mechanism))
	}) {
		add(r)
	}
	for _, r := range sortedValues(i.tokens, strings.Compare) {
		add(r)
	}
	return out
}

// controlRecords are the control records behind a snapshot's header.
func (i *Image) controlRecords() []ControlRecord {
	var out []ControlRecord
	if i.kraftVersion > 0 {
		out = append(out, &KRaftVersion{Level: i.kraftVersion})
	}
	if i.voters != nil {
		out = append(out, i.voters)
	}
	return out
}

func (i *Image) configRecords(add func(Record)) {
	resources := make([]Resource, 0, i.configs.len())
	for r := range i.configs.all() {
		resources = append(resources, r)
	}
	slices.SortFunc(resources, Resource.compare)
	for _, r := range resources {
		settings, _ := i.configs.get(r)
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			value := settings[key]
			add(&ConfigRecord{ResourceType: r.Kind, ResourceName: r.Name, Name: key, Value: &value})
		}
	}
}

func (i *Image) quotaRecords(add func(Record)) {
	for _, q := range i.quotaOrder {
		for _, name := range slices.Sorted(maps.Keys(q.Limits)) {
			add(&ClientQuotaRecord{Entity: q.Entity, Name: name, Value: q.Limits[name]})
		}
	}
}

// record is the PartitionRecord that makes the partition as it is.
func (p *Partition) record(topic logstore.UUID) *PartitionRecord {
	r := &PartitionRecord{
		PartitionID: p.ID, TopicID: topic, Replicas: p.Replicas, ISR: p.ISR, RemovingReplicas: p.Removing, AddingReplicas: p.Adding,
		Leader: p.Leader, LeaderRecoveryState: p.RecoveryState, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Directories: p.Directories,
	}
	if len(p.ELR) > 0 {
		r.EligibleLeaderReplicas = p.ELR
	}
	if len(p.LastKnownELR) > 0 {
		r.LastKnownELR = p.LastKnownELR
	}
	return r
}

// sortedValues lists the values of a map in the order of its keys.
func sortedValues[K comparable, V any](m shardMap[K, V], compare func(a, b K) int) []V {
	keys := make([]K, 0, m.len())
	for k := range m.all() {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compare)
	values := make([]V, len(keys))
	for i, k := range keys {
		values[i], _ = m.get(k)
	}
	return values
}

// compare orders resources by kind and name.
func (r Resource) compare(other Resource) int {
	return cmp.Or(cmp.Compare(r.Kind, other.Kind), strings.Compare(r.Name, other.Name))
}
