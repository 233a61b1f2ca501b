package txn

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"minibroker/record"
)

// Log is the topic __transaction_state. Errors about a partition that does not
// exist wrap ErrNoPartition.
type Log interface {
	// Partitions is how many there are, 0 while the topic does not exist.
	Partitions() int32
	// LeaderEpoch is the epoch of a partition, which is the coordinator's.
	LeaderEpoch(partition int32) (int32, error)
	// Append stores a batch. It may patch it, and keeps nothing of it.
	Append(partition int32, batch record.Batch) error
	// Replay calls fn for each batch there is, in order.
	Replay(partition int32, fn func(record.Batch) error) error
}

// Marker ends a transaction on one partition.
type Marker struct {
	Partition
	ProducerID       int64
	ProducerEpoch    int16
	CoordinatorEpoch int32
	Commit           bool
	Version          Version // of the producer
}

// Markers writes markers to partitions, and tells the group coordinator of those
// for committed offsets.
type Markers interface {
	// WriteMarker returns when the marker is part of the log and in force. Errors:
	// ErrNoPartition when the partition is gone, ErrStale when it has moved on;
	// after any other it will be called again.
	WriteMarker(m Marker) error
}

// Settings are what the coordinator is told by the broker's configuration.
type Settings struct {
	// MaxTimeoutMs is transaction.max.timeout.ms.
	MaxTimeoutMs int32
	// TimeoutCheck is transaction.abort.timed.out.transaction.cleanup.interval.ms.
	TimeoutCheck time.Duration
	// ExpirationMs is transactional.id.expiration.ms.
	ExpirationMs int64
	// TwoPhaseCommit is transaction.two.phase.commit.enable.
	TwoPhaseCommit bool
}

// Options are what a Coordinator works with. All but Logger are needed.
type Options struct {
	Log         Log
	Markers     Markers
	ProducerIDs *ProducerIDs
	// Level is the level of the feature transaction.version.
	Level    func() int16
	Settings Settings
	// ReadOnly is for showing what is there: decided transactions are completed
	// when they are loaded, open ones are left alone.
	ReadOnly bool
	Logger   *slog.Logger // nil = discard
}

// Coordinator is all transactional ids of this broker. All methods may be
// called at the same time.
type Coordinator struct {
	log      Log
	markers  Markers
	ids      *ProducerIDs
	level    func() int16
	settings Settings
	readOnly bool
	logger   *slog.Logger
	began    time.Time // checks of timeouts come in steps from here

	working sync.WaitGroup // timer functions that run

	mu         sync.Mutex
	led        map[int32]struct{} // partitions of the log that were loaded
	txns       map[string]*Txn
	open       map[*Txn]struct{} // those that are Ongoing
	unfinished map[*Txn]struct{} // decided, with markers that could not be written
	check      *time.Timer       // of timeouts; nil unless there is an open one
	retry      *time.Timer       // of markers; nil unless there is an unfinished one
	retryDelay time.Duration
	closed     bool
}

// Txn is one transactional id and its current or last transaction.
type Txn struct {
	id        string
	partition int32       // of the log
	gone      atomic.Bool // the coordinator does not know the id any more

	// mu is held from reading the state to having written the next: a change is
	// never seen half done.
	mu sync.Mutex
	metadata
}

// ownLogger is the logger of these lines in Kafka.
const ownLogger = "kafka.coordinator.transaction.TransactionCoordinator"

// New returns a Coordinator that knows nothing yet: see Load.
func New(o Options) *Coordinator {
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Coordinator{
		log: o.Log, markers: o.Markers, ids: o.ProducerIDs, level: o.Level, settings: o.Settings, readOnly: o.ReadOnly,
		logger: logger.With("logger", ownLogger), began: time.Now(),
		led: make(map[int32]struct{}), txns: make(map[string]*Txn), open: make(map[*Txn]struct{}), unfinished: make(map[*Txn]struct{}),
	}
}

// ProducerIDs is the source of new producer ids, for producers without a
// transactional id.
func (c *Coordinator) ProducerIDs() *ProducerIDs { return c.ids }

// Close stops the timers and waits for what they started. It may be called again.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	for _, t := range []*time.Timer{c.check, c.retry} {
		if t != nil {
			t.Stop()
		}
	}
	c.mu.Unlock()
	c.working.Wait()
}

// Forget drops all state: the topic was deleted. It waits for nobody.
func (c *Coordinator) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.txns {
		t.gone.Store(true)
	}
	clear(c.led)
	clear(c.txns)
	clear(c.open)
	clear(c.unfinished)
}

// Resign lets go of the transactional ids that a partition of the log keeps: it is
// not to be had any more. It waits for nobody.
func (c *Coordinator) Resign(partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.led, partition)
	for id, t := range c.txns {
		if t.partition == partition {
			t.gone.Store(true)
			delete(c.txns, id)
			delete(c.open, t)
			delete(c.unfinished, t)
		}
	}
}

// lock finds an id and locks it. ErrNotFound when nothing is known of it.
func (c *Coordinator) lock(id string) (*Txn, error) {
	if id == "" {
		return nil, ErrInvalidRequest
	}
	for {
		if _, err := c.home(id); err != nil {
			return nil, err
		}
		c.mu.Lock()
		t := c.txns[id]
		c.mu.Unlock()
		if t == nil {
			return nil, ErrNotFound
		}
		t.mu.Lock()
		switch {
		case t.gone.Load(): // removed just now
			t.mu.Unlock()
			continue
		case t.epoch == noEpoch: // its first record could not be written
			t.mu.Unlock()
			return nil, ErrNotFound
		}
		return t, nil
	}
}

// home is the partition that keeps an id, or why the id is not coordinated here.
func (c *Coordinator) home(id string) (partition int32, err error) {
	n := c.log.Partitions()
	if n > 0 {
		partition = PartitionFor(id, n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, led := c.led[partition]
	switch {
	case c.closed:
		return -1, ErrNotAvailable
	case n == 0, !led:
		return -1, ErrNotCoordinator
	}
	return partition, nil
}

// lockOwned locks an id for a request of the producer that holds it.
func (c *Coordinator) lockOwned(id string, producerID int64) (*Txn, error) {
	t, err := c.lock(id)
	switch {
	case err == ErrNotFound:
		return nil, ErrProducerIDMapping
	case err != nil:
		return nil, err
	case t.producerID != producerID:
		t.mu.Unlock()
		return nil, ErrProducerIDMapping
	}
	return t, nil
}

// lockOrCreate locks an id, which need not be known. A new one has no epoch.
func (c *Coordinator) lockOrCreate(id string) (*Txn, error) {
	for {
		partition, err := c.home(id)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		t := c.txns[id]
		if t == nil {
			t = &Txn{id: id, partition: partition,
				metadata: metadata{producerID: none, previousID: none, nextID: none, epoch: noEpoch, lastEpoch: noEpoch, startMs: none}}
			c.txns[id] = t
		}
		c.mu.Unlock()
		t.mu.Lock()
		if !t.gone.Load() {
			return t, nil
		}
		t.mu.Unlock()
	}
}

// writeLocked makes next the state of t: first in the log, then here.
func (c *Coordinator) writeLocked(t *Txn, next *metadata) error {
	version := int16(0)
	if c.level() >= 1 {
		version = 1
	}
	builder := stateBuilders.Get().(*stateBuilder)
	defer stateBuilders.Put(builder)
	batch, err := builder.build(t.id, next, version)
	if t.gone.Load() {
		err = ErrNoPartition // the topic was deleted, and maybe made anew
	}
	if err == nil {
		err = c.log.Append(t.partition, batch)
	}
	if err != nil {
		c.logger.Error(fmt.Sprintf("Writing state %s of transactional id %s to partition %d: %v", next.state, t.id, t.partition, err))
		return unavailable(err)
	}
	was := t.state
	t.metadata = *next
	if (was == Ongoing) != (t.state == Ongoing) {
		c.noteOpen(t, t.state == Ongoing)
	}
	return nil
}
