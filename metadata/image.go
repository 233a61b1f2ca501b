package metadata

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"minibroker/logstore"
)

// ResourceKind is what a setting belongs to; the number is the one of
// ConfigRecord and of the wire protocol.
type ResourceKind int8

// The kinds of resources that have settings.
const (
	ResourceTopic         ResourceKind = 2
	ResourceBroker        ResourceKind = 4 // name "" is the cluster-wide default
	ResourceClientMetrics ResourceKind = 16
	ResourceGroup         ResourceKind = 32
)

// Resource is something that has settings.
type Resource struct {
	Kind ResourceKind
	Name string
}

// Image is the whole metadata at one offset. It never changes; readers need no
// lock. Maps, slices and records that it hands out belong to it and must not
// be changed.
type Image struct {
	ClusterID      string
	NodeID         int32
	BrokerEpoch    int64            // of this node's registration, -1 before the first
	NextProducerID int64            // first producer id not yet given out
	LastOffset     int64            // of the newest record applied, -1 for none
	Features       map[string]int16 // finalized levels, without those at 0

	lastEpoch     int32 // leader epoch and time (ms) of the newest record
	lastTimestamp int64

	sorted      []*Topic // by name
	topics      shardMap[string, *Topic]
	topicIDs    shardMap[logstore.UUID, *Topic]
	configs     shardMap[Resource, map[string]string]
	quotas      shardMap[string, *Quota] // by quotaKey
	quotaOrder  []*Quota                 // as Kafka shows them, see quotaorder.go
	acls        shardMap[logstore.UUID, *AccessControlEntryRecord]
	scram       shardMap[ScramUser, *UserScramCredentialRecord]
	tokens      shardMap[string, *DelegationTokenRecord]
	brokers     map[int32]*RegisterBrokerRecord
	controllers map[int32]*RegisterControllerRecord

	kraftVersion int16
	voters       *KRaftVoters // nil while voters are known by configuration
}

// Topic is one topic. Partitions are in the order of their numbers, without
// gaps.
type Topic struct {
	Name       string
	ID         logstore.UUID
	Partitions []Partition
}

// Partition is the state of one partition.
type Partition struct {
	ID             int32
	Leader         int32 // -1 when there is none
	LeaderEpoch    int32
	PartitionEpoch int32
	RecoveryState  int8 // 1: elected without being in sync
	Replicas       []int32
	ISR            []int32
	ELR            []int32 // eligible leader replicas
	LastKnownELR   []int32
	Adding         []int32
	Removing       []int32
	Directories    []logstore.UUID // one for each replica, or none
}

// ScramUser names a SCRAM credential.
type ScramUser struct {
	Name      string
	Mechanism int8 // 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
}

// Quota is the limits of one entity.
type Quota struct {
	Entity []QuotaEntity
	Limits map[string]float64

	hash uint32 // QuotaHash of Entity
}

func newImage(o *Options) *Image {
	return &Image{ClusterID: o.ClusterID, NodeID: o.NodeID, BrokerEpoch: -1, LastOffset: -1, Features: map[string]int16{}, lastTimestamp: -1}
}

// Topic finds a topic by name.
func (i *Image) Topic(name string) (*Topic, bool) { return i.topics.get(name) }

// TopicByID finds a topic by id.
func (i *Image) TopicByID(id logstore.UUID) (*Topic, bool) { return i.topicIDs.get(id) }

// Topics lists all topics, sorted by name.
func (i *Image) Topics() []*Topic { return i.sorted }

// Config returns the settings stored for a resource; nil when there are none.
func (i *Image) Config(kind ResourceKind, name string) map[string]string {
	m, _ := i.configs.get(Resource{kind, name})
	return m
}

// Configs goes through all resources that have settings, in no particular
// order.
func (i *Image) Configs() iter.Seq2[Resource, map[string]string] { return i.configs.all() }

// Brokers lists the registrations of brokers by node id.
func (i *Image) Brokers() map[int32]*RegisterBrokerRecord { return i.brokers }

// Controllers lists the registrations of controllers by node id.
func (i *Image) Controllers() map[int32]*RegisterControllerRecord { return i.controllers }

// Quotas lists the client quotas in Kafka's order, see HashTable.
func (i *Image) Quotas() []*Quota { return i.quotaOrder }

// ACLs goes through the access control entries, in no particular order.
func (i *Image) ACLs() iter.Seq2[logstore.UUID, *AccessControlEntryRecord] { return i.acls.all() }

// ScramCredential finds a user's credential.
func (i *Image) ScramCredential(user ScramUser) (*UserScramCredentialRecord, bool) {
	return i.scram.get(user)
}

// ScramCredentials goes through all credentials, in no particular order.
func (i *Image) ScramCredentials() iter.Seq2[ScramUser, *UserScramCredentialRecord] {
	return i.scram.all()
}

// DelegationTokens goes through the tokens by id, in no particular order.
func (i *Image) DelegationTokens() iter.Seq2[string, *DelegationTokenRecord] { return i.tokens.all() }

// TopicChange is a topic that two images differ in. One of both is nil when it
// was created or deleted; a topic that was deleted and created again is one
// change with two ids.
type TopicChange struct{ Old, New *Topic }

// TopicChanges lists what became of the topics since old, sorted by name.
// Settings are not looked at.
func (i *Image) TopicChanges(old *Image) []TopicChange {
	var changes []TopicChange
	a, b := old.sorted, i.sorted
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			changes = append(changes, TopicChange{Old: a[0]})
			a = a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			changes = append(changes, TopicChange{New: b[0]})
			b = b[1:]
		default:
			if a[0] != b[0] {
				changes = append(changes, TopicChange{Old: a[0], New: b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return changes
}

// ConfigChanges lists the resources whose settings differ from old, sorted.
func (i *Image) ConfigChanges(old *Image) []Resource {
	var changes []Resource
	for r := range i.configs.differing(old.configs) {
		if !maps.Equal(i.Config(r.Kind, r.Name), old.Config(r.Kind, r.Name)) {
			changes = append(changes, r)
		}
	}
	slices.SortFunc(changes, Resource.compare)
	return changes
}

// SameQuotas reports whether no client quota has changed since old; false may
// be a false alarm.
func (i *Image) SameQuotas(old *Image) bool {
	for range i.quotas.differing(old.quotas) {
		return false
	}
	return i.quotas.len() == old.quotas.len()
}

// level is the cluster's metadata.version.
func (i *Image) level() int16 { return i.Features[featureMetadataVersion] }

// elrEnabled reports whether eligible leader replicas are kept.
func (i *Image) elrEnabled() bool { return i.Features[featureELR] > 0 && i.level() >= levelELR }

// quotaKey makes a map key of an entity; parts are ordered by type.
func quotaKey(entity []QuotaEntity) string {
	parts := slices.Clone(entity)
	slices.SortFunc(parts, func(a, b QuotaEntity) int { return strings.Compare(a.Type, b.Type) })
	var key strings.Builder
	for _, e := range parts {
		key.WriteString(e.Type)
		key.WriteByte(0)
		if e.Name != nil {
			key.WriteByte('=')
			key.WriteString(*e.Name)
		}
		key.WriteByte(0)
	}
	return key.String()
}
