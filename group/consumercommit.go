package group

import (
	"errors"
	"fmt"
)

// checkCommitLocked lets members commit with their epoch, and with an older one
// as far as checkPartitionLocked says.
func (c *consumer) checkCommitLocked(by *Committer, transactional bool) error {
	if by.Generation < 0 && len(c.members) == 0 {
		return nil // nobody to collide with
	}
	if by.anonymous(transactional) {
		return nil
	}
	m, err := c.memberLocked(by.MemberID)
	switch {
	case err != nil:
		return err
	case !transactional && m.classic == nil && !by.KnowsEpochs:
		return &Refusal{ErrUnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the consumer group protocol"}
	case by.Generation > m.epoch:
		return by.known(m.stale("Received %s %d is newer than current member epoch %d.", by.Generation, m.epoch))
	}
	return nil
}

// anonymous says that a transactional committer does not say who it is: older
// clients do not.
func (by *Committer) anonymous(transactional bool) bool {
	return transactional && by.Generation == -1 && by.MemberID == "" && by.InstanceID == nil
}

// known is an error about epochs in terms that the client knows.
func (by *Committer) known(err error) error {
	if !by.KnowsEpochs && errors.Is(err, ErrStaleEpoch) {
		return ErrIllegalGeneration
	}
	return err
}

// stale is the refusal of an epoch, in the terms of the member's protocol; the
// first thing in format is the term.
func (m *consumerMember) stale(format string, args ...any) error {
	kind, term := ErrStaleEpoch, "member epoch"
	if m.classic != nil {
		kind, term = ErrIllegalGeneration, "generation id"
	}
	return &Refusal{kind, fmt.Sprintf(format, append([]any{term}, args...)...)}
}

// checkPartitionLocked lets a member commit with an epoch before its own when it
// has had the partition since that epoch: nobody else can have read it since.
func (c *consumer) checkPartitionLocked(by *Committer, p *CommitPartition) error {
	m := c.members[by.MemberID]
	if m == nil || by.Generation == m.epoch || by.Generation < 0 && by.MemberID == "" {
		return nil
	}
	since, ok := m.epochOf(p.TopicID, p.Partition)
	switch {
	case !ok:
		return by.known(m.stale("Received %s %d, but partition %s-%d is not assigned or pending revocation for member.", by.Generation, p.Topic, p.Partition))
	case by.Generation < since:
		return by.known(m.stale("Received %s %d is older than assignment epoch %d for partition %s-%d.", by.Generation, since, p.Topic, p.Partition))
	}
	return nil
}

func (c *consumer) committedLocked(string) {}

func (c *consumer) checkFetchLocked(memberID *string, epoch int32) error {
	if memberID == nil && epoch < 0 {
		return nil
	}
	id := ""
	if memberID != nil {
		id = *memberID
	}
	m, err := c.memberLocked(id)
	switch {
	case err != nil:
		return err
	case m.epoch != epoch:
		return m.stale("The received %s %d does not match the expected member epoch %d.", epoch, m.epoch)
	}
	return nil
}

func (c *consumer) checkOffsetDeleteLocked() error { return nil }

func (c *consumer) checkDeleteLocked() error {
	if len(c.members) > 0 {
		return ErrNonEmptyGroup
	}
	return nil
}
