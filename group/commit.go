package group

import (
	"time"

	"minibroker/record"
)

// CommitRequest commits offsets.
type CommitRequest struct {
	GroupID string
	Committer
	// RetentionMs is how long the client wants the offsets kept; -1 as the
	// broker's settings say.
	RetentionMs int64
	Partitions  []CommitPartition
}

// CommitPartition is one offset to commit.
type CommitPartition struct {
	PartitionName
	TopicID     [16]byte
	Offset      int64
	LeaderEpoch int32 // -1 none
	Metadata    string
}

// Commit commits offsets. The first result has an error for each partition that
// was left out: ErrMetadataTooLarge. An error refuses them all: ErrUnknownMember,
// ErrIllegalGeneration, ErrFencedInstance, ErrRebalanceInProgress,
// ErrGroupNotFound and those of a coordinator that cannot be asked. Who is not a
// member may commit while there are no members; that makes the group when it is
// not there.
func (c *Coordinator) Commit(r *CommitRequest) ([]error, error) {
	s, err := c.shardOf(r.GroupID)
	if err != nil {
		return nil, err
	}
	g, created, err := s.committing(r.GroupID, &r.Committer, false)
	if err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	now := time.Now().UnixMilli()
	expire := int64(-1)
	if r.RetentionMs >= 0 {
		expire = now + r.RetentionMs
	}
	errs, err := g.commitLocked(&r.Committer, r.Partitions, now, expire)
	if err != nil && created {
		s.removeLocked(g)
	}
	return errs, err
}

// committing returns the group that offsets are committed to, locked, when the
// committer may do so; one that is not there is made for who is no member of it.
func (s *shard) committing(id string, by *Committer, transactional bool) (*Group, bool, error) {
	g := s.find(id)
	if g == nil {
		switch {
		case by.Generation >= 0 && by.KnowsEpochs:
			return nil, false, notFound(id)
		case by.Generation >= 0:
			return nil, false, ErrIllegalGeneration
		}
		made, created, err := s.findOrCreate(id)
		if err != nil || created {
			return made, created, err
		}
		g = made
	}
	if err := g.machine.checkCommitLocked(by, transactional); err != nil {
		g.mu.Unlock()
		return nil, false, err
	}
	if !transactional {
		g.machine.committedLocked(by.MemberID)
	}
	return g, false, nil
}

// commitLocked writes the offsets as one batch and brings them into force.
func (g *Group) commitLocked(by *Committer, partitions []CommitPartition, now, expire int64) ([]error, error) {
	records, errs, err := g.commitRecordsLocked(by, partitions, now, expire)
	if len(records) == 0 {
		return errs, err
	}
	base, err := g.s.appendLocked(records)
	if err != nil {
		return nil, err
	}
	for i := range partitions {
		if errs != nil && errs[i] != nil {
			continue
		}
		g.offsets.put(partitions[i].PartitionName, partitions[i].offset(now, expire, base))
		base++
	}
	return errs, nil
}

// commitRecordsLocked makes the records of a commit. errs is nil when all is
// well; an error refuses them all.
func (g *Group) commitRecordsLocked(by *Committer, partitions []CommitPartition, now, expire int64) (records []record.Record, errs []error, err error) {
	limit := g.s.c.settings().OffsetMetadataMaxChars
	records = make([]record.Record, 0, len(partitions))
	for i := range partitions {
		p := &partitions[i]
		if len(p.Metadata) > limit && utf16Len(p.Metadata) > limit {
			if errs == nil {
				errs = make([]error, len(partitions))
			}
			errs[i] = ErrMetadataTooLarge
			continue
		}
		if err := g.machine.checkPartitionLocked(by, p); err != nil {
			return nil, nil, err
		}
		o := p.offset(now, expire, -1)
		records = append(records, offsetRecord(g.id, p.PartitionName, &o))
	}
	return records, errs, nil
}

func (p *CommitPartition) offset(now, expire, recordOffset int64) Offset {
	return Offset{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, TopicID: p.TopicID,
		CommitMs: now, ExpireMs: expire, recordOffset: recordOffset}
}

// TransactionalCommitRequest commits offsets as part of a transaction.
type TransactionalCommitRequest struct {
	GroupID string
	Committer
	ProducerID    int64
	ProducerEpoch int16
	// TransactionVersion is 2 when the producer raises its epoch with each
	// transaction; else 0.
	TransactionVersion int16
	Partitions         []CommitPartition
}

// CommitTransactional writes offsets into the log that come into force when the
// producer's transaction is committed: see CompleteTransaction. Results are those
// of Commit.
func (c *Coordinator) CommitTransactional(r *TransactionalCommitRequest) ([]error, error) {
	s, err := c.shardOf(r.GroupID)
	if err != nil {
		return nil, err
	}
	g, created, err := s.committing(r.GroupID, &r.Committer, true)
	if err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	errs, err := g.commitPendingLocked(r, time.Now().UnixMilli())
	if err != nil && created {
		s.removeLocked(g)
	}
	return errs, err
}

func (g *Group) commitPendingLocked(r *TransactionalCommitRequest, now int64) ([]error, error) {
	records, errs, err := g.commitRecordsLocked(&r.Committer, r.Partitions, now, -1)
	if len(records) == 0 {
		return errs, err
	}
	// Noted before the write: a marker that comes after it must find the group.
	g.expectMarkerLocked(r.ProducerID)
	base, err := g.s.appendBatchLocked(records, record.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch},
		AppendOptions{TransactionVersion: r.TransactionVersion})
	if err != nil {
		if len(g.offsets.pending[r.ProducerID]) == 0 {
			g.forgetProducerLocked(r.ProducerID)
		}
		return nil, err
	}
	for i := range r.Partitions {
		if errs != nil && errs[i] != nil {
			continue
		}
		p := &r.Partitions[i]
		g.putPendingLocked(r.ProducerID, p.PartitionName, p.offset(now, -1, base))
		base++
	}
	return errs, nil
}

// CompleteTransaction tells the groups of a partition of __consumer_offsets that
// the marker which ends a producer's transaction was written there, at an
// offset: what the transaction committed comes into force or is forgotten.
func (c *Coordinator) CompleteTransaction(partition int32, producerID, markerOffset int64, commit bool) {
	c.mu.RLock()
	s := c.shards[partition]
	c.mu.RUnlock()
	if s != nil {
		s.markerWritten(producerID, markerOffset, commit)
	}
}
