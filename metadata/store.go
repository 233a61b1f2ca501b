package metadata

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"minibroker/logstore"
	"minibroker/record"
)

// Store is the metadata log of a node that is its only controller. All methods
// may be called at the same time; a change waits for the disk, and changes that
// wait together share one sync.
type Store struct {
	o        Options
	log      raftLog
	readOnly bool // made by OpenReadOnly: the log is closed already

	image   atomic.Pointer[Image] // newest state that is safe on disk
	settled atomic.Pointer[Image] // newest state that OnChange has followed

	// publishing orders what becomes visible. It is taken before mu.
	publishing sync.Mutex

	mu          sync.Mutex
	epoch       int32        // leader epoch of this node
	next        *Image       // state after all that was appended
	transaction *transaction // metadata transaction left open by what was replayed
	pending     []*change    // appended, not visible yet; in log order
	failed      error        // why nothing can be appended any more
	closed      bool
	starting    bool // nobody has seen an image yet

	changes   sync.WaitGroup // changes that were appended and are not answered yet
	snapshots snapshotter
}

// change is an appended batch on its way to become visible.
type change struct {
	end     int64  // offset after it
	image   *Image // state after it
	visible bool   // guarded by publishing
	err     error  // of OnChange; guarded by publishing
}

// Image is the newest state that is safe on disk.
func (s *Store) Image() *Image { return s.image.Load() }

// Settled is the newest state that OnChange has followed: what it has can be
// used at once, while the newest topics of Image may still come into being.
func (s *Store) Settled() *Image { return s.settled.Load() }

// Settle waits until everything appended so far is in force and followed. It
// must not be called from OnChange. The error is that of the changes it waited
// for.
func (s *Store) Settle() error {
	s.mu.Lock()
	n := len(s.pending)
	if n == 0 {
		s.mu.Unlock()
		s.publishing.Lock() // OnChange may be at work
		defer s.publishing.Unlock()
		return nil
	}
	last := s.pending[n-1]
	s.changes.Add(1)
	s.mu.Unlock()
	return s.commit(last)
}

// show makes an image visible that nobody has to follow.
func (s *Store) show(image *Image) {
	s.image.Store(image)
	s.settled.Store(image)
}

// BrokerEpoch is the epoch of this node's registration.
func (s *Store) BrokerEpoch() int64 { return s.Image().BrokerEpoch }

// Append appends records as one batch and returns when they are in force. It
// is for what has no method of its own: access control, quotas, credentials,
// feature levels. The records must fit the state; ErrMalformed otherwise.
func (s *Store) Append(records []Record) error {
	return s.update(func(*Image) ([]Record, error) { return records, nil })
}

// update appends what plan makes of the state and waits until it is in force.
// plan may return nothing.
func (s *Store) update(plan func(*Image) ([]Record, error)) error {
	s.mu.Lock()
	c, err := s.updateLocked(plan)
	s.mu.Unlock()
	if err != nil || c == nil {
		return err
	}
	return s.commit(c)
}

func (s *Store) updateLocked(plan func(*Image) ([]Record, error)) (*change, error) {
	if s.closed {
		return nil, ErrClosed
	}
	if s.failed != nil {
		return nil, s.failed
	}
	records, err := plan(s.next)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	if len(records) > maxBatchRecords {
		return nil, fmt.Errorf("%w: %d records, at most %d", ErrTooManyRecords, len(records), maxBatchRecords)
	}
	if err := s.appendLocked(records); err != nil {
		return nil, err
	}
	c := &change{end: s.log.EndOffset(), image: s.next}
	s.pending = append(s.pending, c)
	s.changes.Add(1)
	return c, nil
}

// appendLocked appends one batch and applies it to the state. Nothing is
// appended that cannot be applied.
func (s *Store) appendLocked(records []Record) error {
	now := time.Now().UnixMilli()
	first := s.log.EndOffset()
	e := s.next.edit(s.transaction)
	e.inPlace = s.starting
	for _, r := range records {
		if err := e.apply(r); err != nil {
			return err
		}
	}
	e.at(first+int64(len(records))-1, s.epoch, now)
	image, err := e.done()
	if err != nil {
		return err
	}
	batch, err := buildBatch(records, image.level(), now)
	if err != nil {
		return err
	}
	if len(batch) > maxBatchBytes && len(records) > 1 {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooManyRecords, len(batch), maxBatchBytes)
	}
	if err := s.storeLocked(batch, first); err != nil {
		return err
	}
	s.next, s.transaction = image, e.transaction
	return nil
}

// storeLocked appends a batch to the segments.
func (s *Store) storeLocked(batch record.Batch, first int64) error {
	info, err := s.log.Append(batch, logstore.AppendOptions{LeaderEpoch: s.epoch, Origin: logstore.Coordinator})
	if err != nil {
		return s.appendFailedLocked(err)
	}
	if info.FirstOffset != first {
		err := fmt.Errorf("metadata batch went to offset %d, not %d", info.FirstOffset, first)
		s.failLocked(err)
		return err
	}
	s.snapshots.grew(len(batch), batch.MaxTimestamp())
	return nil
}

// commit syncs the log up to c and makes c visible, together with all changes
// before it.
func (s *Store) commit(c *change) error {
	defer s.changes.Done()
	if err := s.log.Flush(c.end); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failLocked(err)
		return err
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if c.visible {
		return c.err
	}
	s.mu.Lock()
	n := 0
	for n < len(s.pending) && s.pending[n].end <= c.end {
		n++
	}
	ready := s.pending[:n:n]
	s.pending = s.pending[n:]
	s.mu.Unlock()
	old := s.image.Swap(c.image)
	err := s.o.OnChange(old, c.image)
	s.settled.Store(c.image)
	for _, done := range ready {
		done.visible, done.err = true, err
	}
	s.maybeSnapshot(c.image)
	return err
}

// Close stops cleanly: the log says that this broker stopped leading and went
// away, everything is synced. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	if s.readOnly {
		return nil
	}
	s.changes.Wait()
	s.snapshots.working.Wait()
	s.mu.Lock()
	err := s.failed
	if err == nil {
		err = s.stopLocked()
	}
	last := s.next
	s.mu.Unlock()
	if err = errors.Join(err, s.log.Close()); err != nil {
		return fmt.Errorf("close metadata log %s: %w", s.o.Dir, err)
	}
	s.show(last)
	return nil
}

// Abort writes nothing more, as if the process had been killed. The files stay
// open until they are garbage.
func (s *Store) Abort() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.changes.Wait()
	s.snapshots.working.Wait()
	return nil
}
