package group

import (
	"sync"
	"time"
)

// soughtKept bounds how many look-ups of a coordinator are remembered.
const soughtKept = 64

// sought remembers who asked last where a group's coordinator is: members ask just
// before they join.
type sought struct {
	mu     sync.Mutex
	latest [soughtKept]lookup
	next   int
}

// lookup is one question for a group's coordinator.
type lookup struct {
	group string
	at    time.Time
}

func (s *sought) note(groupID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest[s.next] = lookup{groupID, time.Now()}
	s.next = (s.next + 1) % soughtKept
}

// after tells whether somebody asked later than that.
func (s *sought) after(groupID string, then time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.latest {
		if l := &s.latest[i]; l.group == groupID && l.at.After(then) {
			return true
		}
	}
	return false
}

// Sought says that a client asked where this group's coordinator is. A first
// generation that is about to be made waits for it a moment longer.
func (c *Coordinator) Sought(groupID string) { c.sought.note(groupID) }
