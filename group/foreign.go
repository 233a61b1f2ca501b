package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"

	"minibroker/record"
)

// Record types of groups of the kinds that are not coordinated here. The last of
// each kind to be deleted is the group's own record:
//
//	share    10 member, 11 group, 12 13 target, 14 current, 15 state of partitions
//	streams  17 group, 19 member, 20 21 target, 22 current, 23 topology
const (
	typeShareMember   int16 = 10
	typeShareGroup    int16 = 11
	typeShareLast     int16 = 15
	typeStreamsGroup  int16 = 17
	typeStreamsMember int16 = 19
)

// foreign is a group that Kafka left and that is not coordinated here: a share
// or a streams group. Its records stay as they are and its name is not free. Its
// offsets can be read, and committed and deleted by who is no member; they do
// not expire, for nobody here knows whether the group is done with them.
type foreign struct {
	g       *Group
	of      Kind
	members map[string]bool // by id
}

// foreignKind is the kind of group that has records of this type.
func foreignKind(kind int16) (Kind, bool) {
	switch {
	case kind >= typeShareMember && kind <= typeShareLast:
		return Share, true
	case kind >= typeStreamsGroup && kind <= lastType:
		return Streams, true
	}
	return Classic, false
}

// foreign follows a record of a share or streams group.
func (r *replay) foreign(rec *record.Record, kind int16, of Kind) error {
	key := kbin.Reader{Src: rec.Key[2:]}
	id, member := key.String(), ""
	if kind == typeShareMember || kind == typeStreamsMember {
		member = key.String()
	}
	if !key.Ok() {
		return fmt.Errorf("%w: key of type %d", ErrCorruptRecord, kind)
	}
	if rec.Value == nil {
		r.undoForeign(id, member, kind)
		return nil
	}
	g, _, err := r.s.findOrCreate(id)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	f, ok := g.machine.(*foreign)
	if !ok || f.of != of {
		f = &foreign{g: g, of: of, members: map[string]bool{}}
		g.machine = f
	}
	if member != "" {
		f.members[member] = true
	}
	return nil
}

func (r *replay) undoForeign(id, member string, kind int16) {
	g := r.s.find(id)
	if g == nil {
		return
	}
	f, ok := g.machine.(*foreign)
	if ok {
		delete(f.members, member)
	}
	g.mu.Unlock()
	if ok && (kind == typeShareGroup || kind == typeStreamsGroup) {
		r.s.dropGroup(id)
	}
}

func (f *foreign) kind() Kind                 { return f.of }
func (f *foreign) protocolTypeLocked() string { return f.of.String() }

// stateLocked is that of a group whose members have all gone: nobody hears them
// here.
func (f *foreign) stateLocked() string          { return consumerEmpty }
func (f *foreign) subscribedLocked(string) bool { return false }

// emptyLocked is about what may be removed, and this may not.
func (f *foreign) emptyLocked() bool { return false }

func (f *foreign) joinLocked(*JoinRequest, *Settings, chan<- JoinResult) error {
	return ErrInconsistentProtocol
}
func (f *foreign) syncLocked(*SyncRequest, chan<- SyncResult) error { return ErrUnknownMember }
func (f *foreign) heartbeatLocked(*HeartbeatRequest) error          { return ErrUnknownMember }

func (f *foreign) leaveClassicLocked(members []Leaving) ([]error, error) {
	errs := make([]error, len(members))
	for i := range errs {
		errs[i] = ErrUnknownMember
	}
	return errs, nil
}

func (f *foreign) checkCommitLocked(by *Committer, transactional bool) error {
	switch {
	case f.of == Share:
		return notConsumer(f.g.id)
	case by.Generation < 0 && len(f.members) == 0, by.anonymous(transactional):
		return nil
	}
	return ErrUnknownMember
}

func (f *foreign) checkPartitionLocked(*Committer, *CommitPartition) error { return nil }

func (f *foreign) checkFetchLocked(memberID *string, epoch int32) error {
	switch {
	case memberID == nil && epoch < 0:
		return nil
	case f.of == Share:
		return notConsumer(f.g.id)
	}
	return ErrUnknownMember
}

func (f *foreign) checkOffsetDeleteLocked() error {
	if f.of == Share {
		return notConsumer(f.g.id)
	}
	return nil
}

func (f *foreign) checkDeleteLocked() error {
	if len(f.members) > 0 {
		return ErrNonEmptyGroup
	}
	return &Refusal{ErrInvalidRequest, "Group " + f.g.id + " is a " + f.of.String() + " group, which is kept as Kafka left it. Delete it with Kafka on this directory."}
}

func (f *foreign) committedLocked(string)                                   {}
func (f *foreign) expiryLocked() (func(*Offset) int64, bool)                { return nil, false }
func (f *foreign) tombstonesLocked(records []record.Record) []record.Record { return records }
func (f *foreign) startLocked()                                             {}
func (f *foreign) stopLocked(error)                                         {}
