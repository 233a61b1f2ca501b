package metadata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"minibroker/logstore"
)

// imageEdit applies records to a copy of an image. The copy shares everything
// with the image that no record touches.
type imageEdit struct {
	base *Image
	next *Image

	topics   *shardEdit[string, *Topic]
	topicIDs *shardEdit[logstore.UUID, *Topic]
	configs  *shardEdit[Resource, map[string]string]
	quotas   *shardEdit[string, *Quota]
	acls     *shardEdit[logstore.UUID, *AccessControlEntryRecord]
	scram    *shardEdit[ScramUser, *UserScramCredentialRecord]
	tokens   *shardEdit[string, *DelegationTokenRecord]

	inPlace bool // nobody else has seen the image: its topics may be changed as they are
	resort  bool // some topics came or went, in place

	touched map[string]bool                   // names of topics created, changed, removed
	own     map[logstore.UUID]*Topic          // topics that this edit may change
	early   map[logstore.UUID]earlyPartitions // partitions whose predecessors are missing yet
	settled map[Resource]map[string]string    // settings that this edit may change
	ownMaps bool                              // brokers, controllers and Features were copied

	touchedQuotas touchedQuotas // since quotaOrder was brought up to date

	transaction *transaction // open metadata transaction
}

type earlyPartitions map[int32]Partition

// transaction is the records of a metadata transaction so far.
type transaction struct {
	name    *string
	records []Record
}

// edit starts a change of the image. open is the transaction left open by the
// records before, nil if none was.
func (i *Image) edit(open *transaction) *imageEdit {
	next := *i
	return &imageEdit{
		base: i, next: &next, transaction: open,
		topics: editOf(i.topics), topicIDs: editOf(i.topicIDs), configs: editOf(i.configs), quotas: editOf(i.quotas),
		acls: editOf(i.acls), scram: editOf(i.scram), tokens: editOf(i.tokens),
		touched: map[string]bool{}, own: map[logstore.UUID]*Topic{}, settled: map[Resource]map[string]string{},
	}
}

// editInPlace starts a change of an image that nobody else has seen and that is not
// used any more. It takes no memory for what it changes.
func (i *Image) editInPlace(open *transaction) *imageEdit {
	e := i.edit(open)
	e.inPlace = true
	return e
}

// touch notes that a topic was created, changed or removed. t is its new form, which
// the edit may change from now on, nil when it is gone.
func (e *imageEdit) touch(name string, id logstore.UUID, t *Topic) {
	switch {
	case e.inPlace:
		e.resort = true
		return
	case t == nil:
		delete(e.own, id)
	default:
		e.own[id] = t
	}
	e.touched[name] = true
}

// done ends the edit. It fails when a topic has a gap in its partitions.
func (e *imageEdit) done() (*Image, error) {
	for id, partitions := range e.early {
		topic, _ := e.topicIDs.get(id)
		for number := range partitions {
			return nil, fmt.Errorf("%w: topic %s has partition %d but no partition %d", ErrMalformed, topic.Name, number, len(topic.Partitions))
		}
	}
	e.orderQuotas()
	n := e.next
	n.topics, n.topicIDs, n.configs, n.quotas = e.topics.done(), e.topicIDs.done(), e.configs.done(), e.quotas.done()
	n.acls, n.scram, n.tokens = e.acls.done(), e.scram.done(), e.tokens.done()
	n.sorted = e.mergeSorted()
	return n, nil
}

// mergeSorted brings the touched topics into the base's sorted list.
func (e *imageEdit) mergeSorted() []*Topic {
	if e.resort {
		all := make([]*Topic, 0, e.topics.len())
		for _, t := range e.topics.all() {
			all = append(all, t)
		}
		slices.SortFunc(all, func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	if len(e.touched) == 0 {
		return e.base.sorted
	}
	names := slices.Sorted(maps.Keys(e.touched))
	merged := make([]*Topic, 0, len(e.base.sorted)+len(names))
	rest := e.base.sorted
	for _, name := range names {
		at, found := slices.BinarySearchFunc(rest, name, func(t *Topic, name string) int { return strings.Compare(t.Name, name) })
		merged = append(merged, rest[:at]...)
		if rest = rest[at:]; found {
			rest = rest[1:]
		}
		if t, ok := e.topics.get(name); ok {
			merged = append(merged, t)
		}
	}
	return append(merged, rest...)
}

// at notes the place of the record applied last.
func (e *imageEdit) at(offset int64, epoch int32, timestamp int64) {
	e.next.LastOffset, e.next.lastEpoch, e.next.lastTimestamp = offset, epoch, timestamp
}

// control applies a control record.
func (e *imageEdit) control(r ControlRecord) {
	switch r := r.(type) {
	case *KRaftVersion:
		e.next.kraftVersion = r.Level
	case *KRaftVoters:
		e.next.voters = r
	}
}

// apply applies a record, or puts it off while a transaction is open.
func (e *imageEdit) apply(r Record) error {
	switch r := r.(type) {
	case *BeginTransactionRecord:
		if e.transaction != nil {
			return fmt.Errorf("%w: BeginTransaction inside a transaction", ErrMalformed)
		}
		e.transaction = &transaction{name: r.Name}
		return nil
	case *AbortTransactionRecord:
		if e.transaction == nil {
			return fmt.Errorf("%w: AbortTransaction without a transaction", ErrMalformed)
		}
		e.transaction = nil
		return nil
	case *EndTransactionRecord:
		if e.transaction == nil {
			return fmt.Errorf("%w: EndTransaction without a transaction", ErrMalformed)
		}
		records := e.transaction.records
		e.transaction = nil
		for _, r := range records {
			if err := e.applyNow(r); err != nil {
				return err
			}
		}
		return nil
	}
	if e.transaction != nil {
		e.transaction.records = append(e.transaction.records, r)
		return nil
	}
	return e.applyNow(r)
}

func (e *imageEdit) applyNow(r Record) error {
	switch r := r.(type) {
	case *TopicRecord, *RemoveTopicRecord, *PartitionRecord, *PartitionChangeRecord, *ClearElrRecord:
		return e.applyTopic(r)
	case *RegisterBrokerRecord, *UnregisterBrokerRecord, *FenceBrokerRecord, *UnfenceBrokerRecord,
		*BrokerRegistrationChangeRecord, *RegisterControllerRecord, *UnregisterControllerRecord:
		return e.applyRegistration(r)
	case *ConfigRecord:
		e.setConfig(r)
	case *FeatureLevelRecord:
		return e.setFeature(r)
	case *ClientQuotaRecord:
		e.setQuota(r)
	case *ProducerIDsRecord:
		e.next.NextProducerID = r.NextProducerID
	case *AccessControlEntryRecord:
		e.acls.set(r.ID, r)
	case *RemoveAccessControlEntryRecord:
		e.acls.remove(r.ID)
	case *UserScramCredentialRecord:
		e.scram.set(ScramUser{r.Name, r.Mechanism}, r)
	case *RemoveUserScramCredentialRecord:
		e.scram.remove(ScramUser{r.Name, r.Mechanism})
	case *DelegationTokenRecord:
		e.tokens.set(r.TokenID, r)
	case *RemoveDelegationTokenRecord:
		e.tokens.remove(r.TokenID)
	case *NoOpRecord, *ZkMigrationStateRecord:
	default:
		return fmt.Errorf("%w: nothing applies a %s record", ErrUnsupported, r.Key())
	}
	return nil
}

func (e *imageEdit) setConfig(r *ConfigRecord) {
	resource := Resource{r.ResourceType, r.ResourceName}
	m, mine := e.settled[resource]
	if !mine {
		old, _ := e.configs.get(resource)
		if m = maps.Clone(old); m == nil {
			m = map[string]string{}
		}
		e.settled[resource] = m
		e.configs.set(resource, m)
	}
	if r.Value != nil {
		m[r.Name] = *r.Value
		return
	}
	delete(m, r.Name)
	if len(m) == 0 {
		e.dropConfigs(resource)
	}
}

func (e *imageEdit) dropConfigs(resource Resource) {
	e.configs.remove(resource)
	delete(e.settled, resource)
}

// setFeature refuses levels that this program cannot work with, as Kafka does
// at its start.
func (e *imageEdit) setFeature(r *FeatureLevelRecord) error {
	at := slices.IndexFunc(supportedFeatures, func(f FeatureRange) bool { return f.Name == r.Name })
	if at < 0 && r.Level != 0 {
		return fmt.Errorf("%w: the cluster has feature %s at level %d, which this version does not know; start a newer one", ErrUnsupported, r.Name, r.Level)
	}
	if at >= 0 && (r.Level > supportedFeatures[at].Max || r.Level < supportedFeatures[at].Min) {
		f := supportedFeatures[at]
		return fmt.Errorf("%w: the cluster is at %s level %d, this version can work with %d to %d", ErrUnsupported, r.Name, r.Level, f.Min, f.Max)
	}
	e.ownSmallMaps()
	if r.Level == 0 {
		delete(e.next.Features, r.Name)
	} else {
		e.next.Features[r.Name] = r.Level
	}
	return nil
}

// ownSmallMaps copies the maps that are too small to be shared in parts.
func (e *imageEdit) ownSmallMaps() {
	if e.ownMaps {
		return
	}
	e.ownMaps = true
	e.next.Features = maps.Clone(e.next.Features)
	e.next.brokers = cloneOrMake(e.next.brokers)
	e.next.controllers = cloneOrMake(e.next.controllers)
}

func cloneOrMake[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

func (e *imageEdit) setQuota(r *ClientQuotaRecord) {
	key := quotaKey(r.Entity)
	old, _ := e.quotas.get(key)
	e.touchedQuotas.add(key, old)
	q := &Quota{Entity: r.Entity, Limits: map[string]float64{}, hash: QuotaHash(r.Entity)}
	if old != nil {
		q.Entity, q.Limits = old.Entity, maps.Clone(old.Limits)
	}
	if r.Remove {
		delete(q.Limits, r.Name)
	} else {
		q.Limits[r.Name] = r.Value
	}
	if len(q.Limits) == 0 {
		e.quotas.remove(key)
		return
	}
	e.quotas.set(key, q)
}
