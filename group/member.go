package group

import (
	"bytes"
	"slices"
	"time"
)

// Protocol is a way to divide the work that a member of a classic group
// supports, with what the member tells the leader about itself.
type Protocol struct {
	Name     string
	Metadata []byte
}

// member is a member of a classic group.
type member struct {
	id                 string
	instanceID         *string // nil unless static
	clientID           string
	clientHost         string
	rebalanceTimeoutMs int32
	sessionTimeoutMs   int32
	protocols          []Protocol // by preference
	assignment         []byte

	seq   uint64 // order of insertion
	isNew bool   // it has not been told its id yet
	// join and sync are where the member waits for an answer; nil when it does
	// not.
	join chan<- JoinResult
	sync chan<- SyncResult

	session session
}

// awaiting says that the member waits for an answer: that counts as life.
func (m *member) awaiting() bool { return m.join != nil || m.sync != nil }

// metadataFor is what the member says under a protocol; nil when it has none.
func (m *member) metadataFor(protocol *string) []byte {
	if protocol == nil {
		return nil
	}
	for i := range m.protocols {
		if m.protocols[i].Name == *protocol {
			return m.protocols[i].Metadata
		}
	}
	return nil
}

// matches says that the member supports exactly these protocols.
func (m *member) matches(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// vote is the member's favourite of the candidates.
func (m *member) vote(candidates map[string]bool) string {
	for i := range m.protocols {
		if candidates[m.protocols[i].Name] {
			return m.protocols[i].Name
		}
	}
	return ""
}

// session is how long a member may be silent. Moving the deadline away, which
// every heartbeat does, leaves the timer alone: it looks at the deadline when
// it goes off.
type session struct {
	deadline time.Time
	armed    time.Time // when the timer goes off; zero when it is not set
	timer    timer
}

// extendLocked moves the deadline to d from now; expired runs when it passes.
func (s *session) extendLocked(g *Group, d time.Duration, expired func()) {
	s.deadline = time.Now().Add(d)
	if !s.armed.IsZero() && !s.armed.After(s.deadline) {
		return
	}
	s.armLocked(g, d, expired)
}

func (s *session) armLocked(g *Group, d time.Duration, expired func()) {
	s.armed = time.Now().Add(d)
	s.timer.setLocked(g, d, func() {
		s.armed = time.Time{}
		if left := time.Until(s.deadline); left > 0 {
			s.armLocked(g, left, expired)
			return
		}
		expired()
	})
}

func (s *session) stopLocked() {
	s.armed = time.Time{}
	s.timer.stopLocked()
}
