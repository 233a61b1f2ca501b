package metadata

import (
	"encoding/binary"
	"fmt"

	"minibroker/logstore"
)

// ControlType is the kind of a control record of the raft log. Control records
// stand in control batches:
//
//	key    int16 version (0), int16 ControlType
//	value  the message, without a frame; its first field is its own version
type ControlType int16

// The kinds of control records in a metadata log or snapshot.
const (
	ControlLeaderChange   ControlType = 2
	ControlSnapshotHeader ControlType = 3
	ControlSnapshotFooter ControlType = 4
	ControlKRaftVersion   ControlType = 5
	ControlKRaftVoters    ControlType = 6
)

// ControlRecord is one control record: a pointer to LeaderChange,
// SnapshotHeader, SnapshotFooter, KRaftVersion or KRaftVoters.
type ControlRecord interface {
	Type() ControlType
	maxVersion() int16
	code(c *coder)
}

// DecodeControl reads key and value of a control record and tells the version
// that it is written in.
func DecodeControl(key, value []byte) (r ControlRecord, version int16, err error) {
	if len(key) != 4 {
		return nil, 0, fmt.Errorf("%w: control record key of %d bytes", ErrMalformed, len(key))
	}
	switch kind := ControlType(binary.BigEndian.Uint16(key[2:])); kind {
	case ControlLeaderChange:
		r = new(LeaderChange)
	case ControlSnapshotHeader:
		r = new(SnapshotHeader)
	case ControlSnapshotFooter:
		r = new(SnapshotFooter)
	case ControlKRaftVersion:
		r = new(KRaftVersion)
	case ControlKRaftVoters:
		r = new(KRaftVoters)
	default:
		return nil, 0, fmt.Errorf("%w: control record type %d is unknown", ErrUnsupported, kind)
	}
	c := coder{buf: value}
	c.int16(&c.version)
	if c.err == nil && (c.version < 0 || c.version > r.maxVersion()) {
		return nil, 0, fmt.Errorf("%w: control record type %d in version %d, known up to %d", ErrUnsupported, r.Type(), c.version, r.maxVersion())
	}
	r.code(&c)
	c.end()
	if c.err != nil {
		return nil, 0, fmt.Errorf("control record type %d: %w", r.Type(), c.err)
	}
	return r, c.version, nil
}

// encodeControl writes key and value of a control record.
func encodeControl(r ControlRecord, version int16) (key, value []byte) {
	key = binary.BigEndian.AppendUint16(make([]byte, 2, 4), uint16(r.Type()))
	c := coder{version: version, writing: true}
	c.int16(&c.version)
	r.code(&c)
	return key, c.buf
}

// LeaderChange is the first record of a leader's epoch.
//
//	field               type     since
//	Version             int16    0
//	LeaderId            int32    0
//	Voters              []Voter  0
//	. VoterId           int32    0
//	. VoterDirectoryId  uuid     1
//	GrantingVoters      []Voter  0      those who voted for the leader
//
// Kafka 4.4.0 writes version 0.
type LeaderChange struct {
	LeaderID       int32
	Voters         []LeaderVoter
	GrantingVoters []LeaderVoter
	Unknown        []Tag
}

// LeaderVoter is a voter in a LeaderChange.
type LeaderVoter struct {
	ID          int32
	DirectoryID logstore.UUID
	Unknown     []Tag
}

// Type is ControlLeaderChange.
func (*LeaderChange) Type() ControlType { return ControlLeaderChange }

func (*LeaderChange) maxVersion() int16 { return 1 }

func (r *LeaderChange) code(c *coder) {
	c.int32(&r.LeaderID)
	array(c, &r.Voters, false, 5, codeLeaderVoter)
	array(c, &r.GrantingVoters, false, 5, codeLeaderVoter)
	c.tags(&r.Unknown)
}

func codeLeaderVoter(c *coder, v *LeaderVoter) {
	c.int32(&v.ID)
	if c.version >= 1 {
		c.uuid(&v.DirectoryID)
	}
	c.tags(&v.Unknown)
}

// SnapshotHeader begins a snapshot.
//
//	field                      type   since
//	Version                    int16  0
//	LastContainedLogTimestamp  int64  0      ms; of the last record contained
type SnapshotHeader struct {
	LastContainedLogTimestamp int64
	Unknown                   []Tag
}

// Type is ControlSnapshotHeader.
func (*SnapshotHeader) Type() ControlType { return ControlSnapshotHeader }

func (*SnapshotHeader) maxVersion() int16 { return 0 }

func (r *SnapshotHeader) code(c *coder) {
	c.int64(&r.LastContainedLogTimestamp)
	c.tags(&r.Unknown)
}

// SnapshotFooter ends a snapshot; without it the snapshot is incomplete.
//
//	field    type   since
//	Version  int16  0
type SnapshotFooter struct{ Unknown []Tag }

// Type is ControlSnapshotFooter.
func (*SnapshotFooter) Type() ControlType { return ControlSnapshotFooter }

func (*SnapshotFooter) maxVersion() int16 { return 0 }

func (r *SnapshotFooter) code(c *coder) { c.tags(&r.Unknown) }

// KRaftVersion says how the voters are known: 0 by configuration, 1 by
// KRaftVoters.
//
//	field         type   since
//	Version       int16  0
//	KRaftVersion  int16  0
type KRaftVersion struct {
	Level   int16
	Unknown []Tag
}

// Type is ControlKRaftVersion.
func (*KRaftVersion) Type() ControlType { return ControlKRaftVersion }

func (*KRaftVersion) maxVersion() int16 { return 0 }

func (r *KRaftVersion) code(c *coder) {
	c.int16(&r.Level)
	c.tags(&r.Unknown)
}

// KRaftVoters lists the controllers that vote.
//
//	field                    type        since
//	Version                  int16       0
//	Voters                   []Voter     0
//	. VoterId                int32       0
//	. VoterDirectoryId       uuid        0
//	. Endpoints              []Endpoint  0
//	. . Name                 string      0
//	. . Host                 string      0
//	. . Port                 uint16      0
//	. KRaftVersionFeature    struct      0
//	. . MinSupportedVersion  int16       0
//	. . MaxSupportedVersion  int16       0
type KRaftVoters struct {
	Voters  []Voter
	Unknown []Tag
}

// Voter is one controller that votes.
type Voter struct {
	ID           int32
	DirectoryID  logstore.UUID
	Endpoints    []VoterEndpoint
	KRaftVersion VoterRange
	Unknown      []Tag
}

// VoterEndpoint is where a voter can be reached.
type VoterEndpoint struct {
	Name    string // of the listener
	Host    string
	Port    uint16
	Unknown []Tag
}

// VoterRange is the range of kraft.version that a voter can work with.
type VoterRange struct {
	Min, Max int16
	Unknown  []Tag
}

// Type is ControlKRaftVoters.
func (*KRaftVoters) Type() ControlType { return ControlKRaftVoters }

func (*KRaftVoters) maxVersion() int16 { return 0 }

func (r *KRaftVoters) code(c *coder) {
	array(c, &r.Voters, false, 27, func(c *coder, v *Voter) {
		c.int32(&v.ID)
		c.uuid(&v.DirectoryID)
		array(c, &v.Endpoints, false, 5, func(c *coder, e *VoterEndpoint) {
			c.string(&e.Name)
			c.string(&e.Host)
			c.uint16(&e.Port)
			c.tags(&e.Unknown)
		})
		c.int16(&v.KRaftVersion.Min)
		c.int16(&v.KRaftVersion.Max)
		c.tags(&v.KRaftVersion.Unknown)
		c.tags(&v.Unknown)
	})
	c.tags(&r.Unknown)
}
