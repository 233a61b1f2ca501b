package minibroker

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"minibroker/cleaner"
	"minibroker/config"
	"minibroker/fault"
	"minibroker/group"
	"minibroker/handlers"
	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/meter"
	"minibroker/partition"
	"minibroker/protocol"
	"minibroker/quota"
	"minibroker/server"
	"minibroker/telemetry"
	"minibroker/txn"
)

// stopGrace is how long running requests may take to finish at a clean stop.
const stopGrace = 5 * time.Second

// Broker is one running node: broker and controller in one.
type Broker struct {
	config       *config.Broker
	log          *slog.Logger
	loggers      handlers.Loggers
	fs           vfs.FS
	readOnly     bool
	clusterID    string              // for directories without one
	topics       []config.StartTopic // to create at the start
	faults       *fault.Set          // nil: none can be given
	requests     *meter.Requests     // nil: not counted
	assign       *assignments
	suspicions   chan suspicion                  // log dirs that may have failed
	failed       chan error                      // holds one
	formatting   *formatting                     // nil unless this is the first start
	listeners    atomic.Pointer[[]boundListener] // see bound
	store        *logstore.Store
	meta         *metadata.Store
	partitions   *partition.Manager
	groups       *group.Coordinator
	transactions *txn.Coordinator
	coordinating bool             // transactions are loaded; set once, at the start
	cleaner      *cleaner.Cleaner // nil when it is switched off
	quotas       *quota.Quotas
	telemetry    func() telemetry.Stats
	server       *server.Server
	descriptors  descriptors

	metadataDirectory logstore.UUID // of the directory that holds the metadata log

	cancel  context.CancelFunc // ends the background work
	working sync.WaitGroup     // background work and accept loops

	uncleanElections atomic.Int64

	stopping atomic.Bool
	closing  sync.Once
	closed   error
}

// Open starts a broker: it returns when all logs are loaded and every listener takes connections. An error leaves
// nothing running and no lock held.
func Open(ctx context.Context, o Options) (*Broker, error) {
	o = o.withDefaults()
	b := &Broker{config: o.Config, log: o.Logger, loggers: o.Loggers, fs: o.FS,
		readOnly: o.ReadOnly, faults: o.Faults, requests: o.Requests, clusterID: o.ClusterID, topics: o.Topics, assign: newAssignments(),
		suspicions: make(chan suspicion, 16), failed: make(chan error, 1)}
	if err := b.open(ctx); err != nil {
		b.abandon()
		return nil, err
	}
	return b, nil
}

// open takes the steps of a start in Kafka's order. Sockets are bound first, so that a taken port is noticed before
// anything on disk changes; connections wait in the backlog until the logs are loaded.
func (b *Broker) open(ctx context.Context) error {
	if err := b.bindAll(b.config.Listeners()); err != nil {
		return err
	}
	openDirs, adopt := b.openData, b.adoptLogs
	if b.readOnly {
		openDirs, adopt = b.openReadOnly, b.showLogs
	}
	if err := openDirs(ctx); err != nil {
		return err
	}
	b.partitions = partition.New(partition.Options{Store: b.store, Logger: b.log})
	b.groups = b.newGroups()
	b.cleaner = b.newCleaner()
	b.transactions = b.newTransactions()
	if err := adopt(); err != nil {
		return err
	}
	if err := b.transactions.Load(ctx); err != nil {
		return err
	}
	b.coordinating = true
	if b.readOnly {
		b.partitions.Fix()
	}
	return b.serve()
}

// openData opens the data directories for use.
func (b *Broker) openData(ctx context.Context) (err error) {
	if b.formatting, err = beginFormatting(b.fs, b.config.LogDirs()); err != nil {
		return err
	}
	if b.formatting != nil {
		b.fs = b.formatting.fs
	}
	b.descriptors = divideDescriptors(vfs.Descriptors())
	b.tellDescriptors()
	if b.store, err = logstore.Open(b.storeOptions()); err != nil {
		return err
	}
	b.store.SurveyAhead() // while the metadata is read, which the load waits for
	if b.metadataDirectory, err = b.formatMetadataDir(); err != nil {
		return err
	}
	o := b.metadataOptions()
	if err := b.refuseLostMetadata(o.Dir); err != nil {
		return err
	}
	if b.meta, err = metadata.Open(o); err != nil {
		return err
	}
	return b.store.Load(ctx)
}

func (b *Broker) storeOptions() logstore.Options {
	return logstore.Options{
		FS: b.fs, Logger: b.log, Dirs: b.config.LogDirs(), NodeID: b.config.NodeID(), ClusterID: b.newClusterID(),
		RecoveryThreads:    b.config.Int("num.recovery.threads.per.data.dir"),
		Configs:            func() func(string) logstore.Config { return b.topicConfigs().of },
		InitialTaskDelayMs: b.config.Long("log.initial.task.delay.ms"),
		DeleteDelayMs:      b.config.Long("log.segment.delete.delay.ms"),
		Cordoned:           b.isCordoned,
		OnSuspect:          b.suspect,
		OpenFiles:          b.descriptors.segments,
	}
}

func (b *Broker) metadataOptions() metadata.Options {
	o := metadata.Options{
		FS: b.fs, Logger: b.log, Dir: filepath.Join(b.config.MetadataLogDir(), metadata.DirName),
		NodeID: b.config.NodeID(), ClusterID: b.store.ClusterID(),
		Endpoints:           b.register,
		ControllerEndpoints: controllerEndpoints(b.config),
		CleanBrokerEpoch:    -1,
		MinISR:              strconv.Itoa(b.config.Int("min.insync.replicas")),
		UncleanElection:     b.config.Bool("unclean.leader.election.enable"),
		Rack:                b.config.String("broker.rack"),
		SegmentBytes:        b.config.Int("metadata.log.segment.bytes"),
		SegmentMs:           b.config.Long("metadata.log.segment.ms"),
		SnapshotBytes:       b.config.Long("metadata.log.max.record.bytes.between.snapshots"),
		SnapshotIntervalMs:  b.config.Long("metadata.log.max.snapshot.interval.ms"),
		RetentionBytes:      b.config.Long("metadata.max.retention.bytes"),
		RetentionMs:         b.config.Long("metadata.max.retention.ms"),
		OnChange:            b.onChange,
		OnFailure:           b.metadataFailed,
	}
	if o.SnapshotIntervalMs == 0 {
		o.SnapshotIntervalMs = math.MaxInt64 // Kafka's 0 is never, by time
	}
	o.DirectoriesFailed = len(b.store.OfflineDirs()) > 0
	o.DirectoryID = b.metadataDirectory
	for i, d := range b.store.Dirs() {
		o.DirectoryIDs = append(o.DirectoryIDs, d.DirectoryID)
		if d.Clean && (i == 0 || d.BrokerEpoch > o.CleanBrokerEpoch) {
			o.CleanBrokerEpoch = d.BrokerEpoch
		}
	}
	return o
}

// serve starts the listeners and the background work.
func (b *Broker) serve() error {
	b.quotas = b.newQuotas()
	api, versions, err := b.newAPI()
	if err != nil {
		return err
	}
	b.telemetry = api.Telemetry
	b.server = server.New(server.Options{
		Logger: b.log, Handler: b.harmed(api), Versions: versions, Requests: b.requests,
		MaxRequestBytes:    b.config.Int("socket.request.max.bytes"),
		MaxQueuedBytes:     b.config.Long("queued.max.request.bytes"),
		Limits:             b.connectionLimits(b.layers(), b.meta.Image()),
		MostConnections:    b.descriptors.connections,
		RateWindow:         quota.Window{Samples: b.config.Int("quota.window.num"), Size: time.Duration(b.config.Long("quota.window.size.seconds")) * time.Second},
		IdleTimeout:        b.millis("connections.max.idle.ms"),
		SendBufferBytes:    b.config.Int("socket.send.buffer.bytes"),
		ReceiveBufferBytes: receiveBuffer(b.config.Int("socket.receive.buffer.bytes")),
	})
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	if b.formatting != nil {
		b.background(func() {
			if err := b.formatting.finish(); err != nil {
				b.log.Error("Sync of the new data directories: "+err.Error(), "logger", "org.apache.kafka.storage.internals.log.LogManager")
			}
		})
	}
	if err := api.CreateMissing(b.topics); err != nil {
		b.working.Wait() // the syncs of the first start, which nothing else may outlive
		return err
	}
	if !b.readOnly {
		b.work(ctx)
	}
	for _, l := range b.bound() {
		b.accept(l)
	}
	return nil
}

// work starts what a broker does beside answering requests: all of it changes files.
func (b *Broker) work(ctx context.Context) {
	b.background(func() { b.runTasks(ctx, b.tasks(time.Now())) })
	b.background(func() { b.runAssignments(ctx) })
	b.background(func() { b.runFailures(ctx) })
	b.background(func() { b.settleLoads(ctx) })
	b.background(func() { b.clean(ctx) })
	b.store.SetDeleteDelay(b.layers().Long("log.segment.delete.delay.ms"))
	b.resumeMoves()
	b.background(func() { b.runMoves(ctx) })
	b.background(func() { b.store.RunSettling(ctx) })
	b.background(func() {
		if err := b.store.RunDeletions(ctx); err != nil && ctx.Err() == nil {
			b.log.Error("Removing deleted partitions: "+err.Error(), "logger", "org.apache.kafka.storage.internals.log.LogManager")
		}
	})
}

func (b *Broker) background(work func()) {
	b.working.Go(work)
}

func (b *Broker) newAPI() (*handlers.API, *protocol.Versions, error) {
	versions, err := protocol.NewVersions(handlers.Keys()...)
	if err != nil {
		return nil, nil, err
	}
	return handlers.New(handlers.Options{
		Metadata: b.meta, Partitions: b.partitions, Groups: b.groups, Store: b.store, Config: b.config, Layers: b.layers,
		Transactions: b.transactions, Markers: b.markers(), Quotas: b.quotas,
		Versions: versions, Logger: b.log, Loggers: b.loggers, AdvertisedFor: b.advertised,
	}), versions, nil
}

// harmed lets the fault rules come before the handlers, where there may be rules.
func (b *Broker) harmed(api server.Handler) server.Handler {
	if b.faults == nil {
		return api
	}
	return b.faults.Wrap(api, func(id [16]byte) string {
		if topic, ok := b.meta.Image().TopicByID(logstore.UUID(id)); ok {
			return topic.Name
		}
		return ""
	})
}

// layers gives the settings in force.
func (b *Broker) layers() config.Layers { return layersOf(b.config, b.meta.Image()) }

func nodeName(id int32) string { return strconv.Itoa(int(id)) }

// Addr is the address of a listener, nil when there is none of that name. With "" it is the first one's.
func (b *Broker) Addr(listener string) net.Addr {
	for _, l := range b.bound() {
		if listener == "" || l.config.Name == listener {
			return l.socket.Addr()
		}
	}
	return nil
}

// Close stops cleanly, as SIGTERM stops Kafka: requests finish, high watermarks are written, the metadata log says that
// this broker went away, logs are flushed and marked clean. It may be called again and returns the same error.
func (b *Broker) Close(ctx context.Context) error {
	b.closing.Do(func() { b.closed = b.close(ctx) })
	return b.closed
}

func (b *Broker) close(ctx context.Context) error {
	b.stopping.Store(true)
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	b.transactions.Close()
	b.groups.Close()       // members that wait look for another coordinator
	b.server.Shutdown(ctx) // a client that is cut off after the grace asks again elsewhere
	b.cancel()
	b.working.Wait()
	if b.readOnly {
		b.abandon() // there is nothing to write
		return nil
	}
	epoch := b.meta.BrokerEpoch()
	err := b.partitions.CheckpointHighWatermarks()
	err = errors.Join(err, b.assignDirectories(), b.meta.Close())
	return errors.Join(err, b.store.Close(logstore.CleanStop{BrokerEpoch: epoch}))
}

// Abort lets go of everything at once and writes nothing more, as if the process had been killed.
func (b *Broker) Abort() {
	b.closing.Do(func() {
		b.cancel()
		b.server.Close()
		b.working.Wait()
		b.abandon()
	})
}

// abandon releases what a start that failed, or an aborted broker, still holds.
func (b *Broker) abandon() {
	for _, l := range b.bound() {
		l.socket.Close()
	}
	if b.transactions != nil {
		b.transactions.Close()
	}
	if b.groups != nil {
		b.groups.Close()
	}
	if b.meta != nil {
		b.meta.Abort() // nothing more is written, so nothing can be lost
	}
	if b.store != nil {
		b.store.Abort()
	}
}
