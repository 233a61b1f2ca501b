// Package handlers answers requests: one file per API of the protocol. A
// handler translates. It reads the request, asks metadata, partition or
// config, and writes the answer; it owns no state.
package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/protocol"
	"minibroker/quota"
	"minibroker/telemetry"
	"minibroker/txn"
)

// Endpoint is the address under which clients of one listener reach this node.
type Endpoint struct {
	Host string
	Port int32
}

// Options is what an API works with. All fields but
// Logger, Loggers and Quotas are needed.
type Options struct {
	Metadata   *metadata.Store
	Partitions *partition.Manager
	Store      *logstore.Store
	Groups     *group.Coordinator
	// Transactions coordinates all transactional ids and gives out producer ids.
	Transactions *txn.Coordinator
	// Markers writes the markers that clients ask for.
	Markers txn.Markers
	Config  *config.Broker
	// Layers returns the settings in force: the static ones under the dynamic
	// ones of the metadata log. It is called per request and must be cheap.
	Layers   func() config.Layers
	Versions *protocol.Versions
	Logger   *slog.Logger // nil = discard
	// Loggers lets clients see and set log levels; nil = there are no loggers.
	Loggers Loggers
	// Quotas holds clients to their limits; nil = there are none.
	Quotas *quota.Quotas
	// AdvertisedFor returns the advertised address of the listener by which a
	// request came; false when that listener has none.
	AdvertisedFor func(listener string) (Endpoint, bool)
}

// Loggers are the named loggers of the process, among them "root", which all
// others follow that have no level of their own. The names are Kafka's.
type Loggers interface {
	// Levels returns the level in force for every logger there is.
	Levels() map[string]slog.Level
	// SetLevel gives a logger a level of its own.
	SetLevel(name string, level slog.Level)
	// UnsetLevel lets a logger follow "root" again.
	UnsetLevel(name string)
}

// API answers requests. It is safe for concurrent use.
type API struct {
	meta       *metadata.Store
	partitions *partition.Manager
	store      *logstore.Store
	groups     *group.Coordinator
	txns       *txn.Coordinator
	markers    txn.Markers
	config     *config.Broker
	layers     func() config.Layers
	versions   *protocol.Versions
	log        *slog.Logger
	loggers    Loggers
	advertised func(listener string) (Endpoint, bool)
	data       *dataPath
	telemetry  *telemetry.Registry
	quotas     *quota.Quotas

	routes [lastKey + 1]route // by API key; nil = not served

	// configChange is held while a request changes settings, from reading the
	// old ones to writing the new: changes of two requests do not mix. It is
	// outermost, metadata.Store.mu comes after it.
	configChange sync.Mutex
}

// lastKey is the highest API key that the dispatch table has room for.
const lastKey = kmsg.UnregisterController

// route answers one request of one API.
type route func(ctx context.Context, req *protocol.Request) (protocol.Response, error)

// New returns an API over o.
func New(o Options) *API {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("logger", ownLogger)
	if o.Quotas == nil {
		o.Quotas = quota.New(quota.Options{})
	}
	a := &API{
		meta:       o.Metadata,
		partitions: o.Partitions,
		store:      o.Store,
		groups:     o.Groups,
		txns:       o.Transactions,
		markers:    o.Markers,
		config:     o.Config,
		layers:     o.Layers,
		versions:   o.Versions,
		log:        log,
		loggers:    o.Loggers,
		advertised: o.AdvertisedFor,
		data:       newDataPath(o.Config),
		telemetry:  telemetry.NewRegistry(),
		quotas:     o.Quotas,
	}
	a.routes = a.table()
	return a
}

// table is the dispatch: one line per API. plain adapts handlers that take the
// decoded body and return the answer's body; handlers that answer in parts are
// routes themselves.
func (a *API) table() [lastKey + 1]route {
	return [lastKey + 1]route{
		kmsg.Produce:                      a.produce,
		kmsg.Fetch:                        a.fetch,
		kmsg.ListOffsets:                  plain(a.listOffsets),
		kmsg.DeleteRecords:                plain(a.deleteRecords),
		kmsg.InitProducerID:               plain(a.initProducerID),
		kmsg.OffsetForLeaderEpoch:         plain(a.offsetForLeaderEpoch),
		kmsg.DescribeProducers:            plain(a.describeProducers),
		kmsg.Metadata:                     plain(a.metadata),
		kmsg.OffsetCommit:                 plain(a.offsetCommit),
		kmsg.OffsetFetch:                  plain(a.offsetFetch),
		kmsg.FindCoordinator:              plain(a.findCoordinator),
		kmsg.JoinGroup:                    plain(a.joinGroup),
		kmsg.Heartbeat:                    plain(a.heartbeat),
		kmsg.LeaveGroup:                   plain(a.leaveGroup),
		kmsg.SyncGroup:                    plain(a.syncGroup),
		kmsg.DescribeGroups:               plain(a.describeGroups),
		kmsg.ListGroups:                   plain(a.listGroups),
		kmsg.ConsumerGroupHeartbeat:       plain(a.consumerGroupHeartbeat),
		kmsg.ConsumerGroupDescribe:        plain(a.consumerGroupDescribe),
		kmsg.DeleteGroups:                 plain(a.deleteGroups),
		kmsg.OffsetDelete:                 plain(a.offsetDelete),
		kmsg.AddPartitionsToTxn:           a.addPartitionsToTxn,
		kmsg.AddOffsetsToTxn:              plain(a.addOffsetsToTxn),
		kmsg.EndTxn:                       plain(a.endTxn),
		kmsg.WriteTxnMarkers:              plain(a.writeTxnMarkers),
		kmsg.TxnOffsetCommit:              plain(a.txnOffsetCommit),
		kmsg.DescribeTransactions:         plain(a.describeTransactions),
		kmsg.ListTransactions:             plain(a.listTransactions),
		kmsg.ApiVersions:                  plain(a.apiVersions),
		kmsg.CreateTopics:                 plain(a.createTopics),
		kmsg.DeleteTopics:                 plain(a.deleteTopics),
		kmsg.DescribeConfigs:              plain(a.describeConfigs),
		kmsg.AlterConfigs:                 a.alterConfigs,
		kmsg.CreatePartitions:             plain(a.createPartitions),
		kmsg.IncrementalAlterConfigs:      plain(a.incrementalAlterConfigs),
		kmsg.DescribeCluster:              plain(a.describeCluster),
		kmsg.DescribeTopicPartitions:      plain(a.describeTopicPartitions),
		kmsg.ListConfigResources:          plain(a.listConfigResources),
		kmsg.DescribeLogDirs:              plain(a.describeLogDirs),
		kmsg.AlterReplicaLogDirs:          plain(a.alterReplicaLogDirs),
		kmsg.ElectLeaders:                 plain(a.electLeaders),
		kmsg.AlterPartitionAssignments:    plain(a.alterPartitionReassignments),
		kmsg.ListPartitionReassignments:   plain(a.listPartitionReassignments),
		kmsg.DescribeClientQuotas:         plain(a.describeClientQuotas),
		kmsg.AlterClientQuotas:            plain(a.alterClientQuotas),
		kmsg.DescribeUserSCRAMCredentials: plain(a.describeUserScramCredentials),
		kmsg.AlterUserSCRAMCredentials:    plain(a.alterUserScramCredentials),
		kmsg.DescribeQuorum:               plain(a.describeQuorum),
		kmsg.UpdateFeatures:               plain(a.updateFeatures),
		kmsg.UnregisterBroker:             plain(a.unregisterBroker),
		kmsg.UnregisterController:         plain(a.unregisterController),
		kmsg.AddRaftVoter:                 plain(a.addRaftVoter),
		kmsg.RemoveRaftVoter:              plain(a.removeRaftVoter),
		kmsg.GetTelemetrySubscriptions:    plain(a.getTelemetrySubscriptions),
		kmsg.PushTelemetry:                plain(a.pushTelemetry),
		kmsg.DescribeACLs:                 plain(a.describeACLs),
		kmsg.CreateACLs:                   plain(a.createACLs),
		kmsg.DeleteACLs:                   plain(a.deleteACLs),
		kmsg.CreateDelegationToken:        plain(a.createDelegationToken),
		kmsg.RenewDelegationToken:         plain(a.renewDelegationToken),
		kmsg.ExpireDelegationToken:        plain(a.expireDelegationToken),
		kmsg.DescribeDelegationToken:      plain(a.describeDelegationToken),
		kmsg.SASLHandshake:                plain(a.saslHandshake),
		kmsg.SASLAuthenticate:             plain(a.saslAuthenticate),
	}
}

// plain makes a route of a handler that takes the decoded body Q and returns
// the whole answer.
func plain[Q kmsg.Request](handle func(context.Context, *protocol.Request, Q) (kmsg.Response, error)) route {
	return func(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
		body, err := bodyOf[Q](req)
		if err != nil {
			return protocol.Response{}, err
		}
		answer, err := handle(ctx, req, body)
		return protocol.Response{Body: answer}, err
	}
}

// bodyOf returns the decoded body of a request.
func bodyOf[Q kmsg.Request](req *protocol.Request) (Q, error) {
	body, ok := req.Body.(Q)
	if !ok {
		return body, fmt.Errorf("request %s: decoded as %T", protocol.KeyName(req.Key), req.Body)
	}
	return body, nil
}

// Handle answers one request. An error means that there is no answer and that
// the connection is to be closed.
func (a *API) Handle(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
	if req.Key < 0 || int(req.Key) >= len(a.routes) || a.routes[req.Key] == nil {
		return protocol.Response{}, fmt.Errorf("request %s v%d: this broker does not serve it", protocol.KeyName(req.Key), req.Version)
	}
	if a.quotas.Active() {
		return a.handleLimited(ctx, req)
	}
	return a.routes[req.Key](ctx, req)
}

// Keys lists the keys of the APIs that have handlers, ascending.
func Keys() []int16 {
	var keys []int16
	for key, handle := range new(API).table() {
		if handle != nil {
			keys = append(keys, int16(key))
		}
	}
	return keys
}
