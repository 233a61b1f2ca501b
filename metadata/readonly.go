package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// mostShown is the highest partition number of a topic that is known by its
// directories alone: all below it cost memory.
const mostShown = 100_000

// Held is a partition whose files are on this node.
type Held struct {
	Topic       string
	ID          logstore.UUID // of the topic; zero when the directory does not say
	Partition   int32
	LeaderEpoch int32 // of the newest batch, 0 when there is none
}

// HasState reports whether a directory holds more of a metadata log than what
// formatting writes. A missing directory holds nothing.
func HasState(fsys vfs.FS, dir string) (bool, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if id, ok := parseSnapshotName(e.Name()); ok && id.End > 0 {
			return true, nil
		}
		if !isSegmentFile(e.Name()) || !strings.HasSuffix(e.Name(), ".log") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return false, err
		}
		if info.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// OpenReadOnly reads what a directory holds, without beginning a leader epoch
// and without registering. Several voters are no obstacle: the log is shown as
// it is here, the last records of which such a cluster may not have committed.
// All changes are refused with logstore.ErrReadOnly. Recovery may have to cut
// files: o.FS is where that happens. When the directory holds no metadata there
// are no topics until ShowHeld is called.
func OpenReadOnly(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Store{o: o, failed: logstore.ErrReadOnly, readOnly: true}
	if err := s.openReadOnly(); err != nil {
		return nil, fmt.Errorf("read metadata log %s: %w", o.Dir, err)
	}
	return s, nil
}

func (s *Store) openReadOnly() error {
	present, err := HasState(s.o.FS, s.o.Dir)
	if err != nil {
		return err
	}
	if !present {
		e := newImage(&s.o).edit(nil)
		for _, r := range initialRecords() {
			if err := e.apply(r); err != nil {
				return err
			}
		}
		s.next, err = e.done()
		s.show(s.next)
		return err
	}
	if err := removeLeftovers(s.o.FS, s.o.Dir); err != nil {
		return err
	}
	err = s.load()
	if s.log.Log != nil {
		err = errors.Join(err, s.log.Close())
	}
	if err != nil {
		return err
	}
	s.show(s.next)
	return nil
}

// ShowHeld makes this node the leader of exactly the partitions that it holds,
// for readers. Those of a topic that the metadata do not know bring it in;
// those of another topic of the same name are left out. Only a store of
// OpenReadOnly can do that.
func (s *Store) ShowHeld(held []Held) error {
	if !s.readOnly {
		return fmt.Errorf("%w: only a read-only store shows what it does not know", ErrInvalidChange)
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.next.edit(nil)
	if err := s.resignLocked(e); err != nil {
		return err
	}
	held = slices.Clone(held)
	slices.SortFunc(held, func(a, b Held) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition) - int(b.Partition)
	})
	for _, h := range held {
		if err := s.showLocked(e, h); err != nil {
			return err
		}
	}
	image, err := e.done()
	if err != nil {
		return err
	}
	s.next = image
	s.show(image)
	return nil
}

// resignLocked takes away the leadership that the metadata tell of.
func (s *Store) resignLocked(e *imageEdit) error {
	for _, t := range s.next.sorted {
		for n := range t.Partitions {
			p := t.Partitions[n]
			if p.Leader != s.o.NodeID {
				continue
			}
			p.Leader = NoLeader
			if err := e.addPartition(p.record(t.ID)); err != nil {
				return err
			}
		}
	}
	return nil
}

// showLocked makes this node the leader of one partition.
func (s *Store) showLocked(e *imageEdit, h Held) error {
	if h.Partition > mostShown {
		return fmt.Errorf("%w: partition %d of topic %s, which the metadata do not know; more than %d cannot be shown", ErrUnsupported, h.Partition, h.Topic, mostShown)
	}
	t, ok := e.topics.get(h.Topic)
	if ok && !h.ID.IsZero() && t.ID != h.ID {
		return nil
	}
	_, known := s.next.Topic(h.Topic)
	if known && int(h.Partition) >= len(t.Partitions) {
		return nil
	}
	if !ok {
		if h.ID.IsZero() {
			h.ID = logstore.NewUUID()
		}
		if err := e.applyTopic(&TopicRecord{Name: h.Topic, TopicID: h.ID}); err != nil {
			return err
		}
		t, _ = e.topics.get(h.Topic)
	}
	self := []int32{s.o.NodeID}
	for number := len(t.Partitions); number <= int(h.Partition); number++ { // those below h are on other brokers
		missing := Partition{ID: int32(number), Leader: NoLeader, Replicas: self, ISR: []int32{}}
		if err := e.addPartition(missing.record(t.ID)); err != nil {
			return err
		}
		t, _ = e.topics.get(h.Topic)
	}
	p := t.Partitions[h.Partition]
	p.Leader, p.LeaderEpoch = s.o.NodeID, max(p.LeaderEpoch, h.LeaderEpoch)
	if !slices.Contains(p.Replicas, s.o.NodeID) {
		p.Replicas = append(slices.Clone(p.Replicas), s.o.NodeID)
	}
	if !slices.Contains(p.ISR, s.o.NodeID) {
		p.ISR = self
	}
	return e.addPartition(p.record(t.ID))
}
