package fault

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Set is the rules in force. All methods may be called at the same time; requests read a published list.
type Set struct {
	rules atomic.Pointer[[]*Active] // nil when there are none

	mu   sync.Mutex // held by changes of rules
	next int64      // id of the next rule
}

// Active is a rule in force.
type Active struct {
	id    int64
	rule  Rule
	kind  kind
	set   *Set
	left  atomic.Int64 // requests that are still to be harmed; counts for Times > 0 alone
	hurts atomic.Int64
}

// NewSet makes an empty set.
func NewSet() *Set { return &Set{next: 1} }

// Add puts a rule in force, after those that are. Errors wrap ErrInvalidRule.
func (s *Set) Add(r Rule) (*Active, error) {
	k, err := r.check()
	if err != nil {
		return nil, err
	}
	if r.Partition != nil {
		p := *r.Partition // the caller's may change
		r.Partition = &p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &Active{id: s.next, rule: r, kind: k, set: s}
	a.left.Store(int64(r.Times))
	s.next++
	s.publishLocked(append(slices.Clone(s.List()), a))
	return a, nil
}

// List is the rules in force, the oldest first; those that are used up are among them.
func (s *Set) List() []*Active {
	if list := s.rules.Load(); list != nil {
		return *list
	}
	return nil
}

// Clear removes all rules. Requests that wait for a delay go on waiting.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publishLocked(nil)
}

func (s *Set) publishLocked(list []*Active) {
	if len(list) == 0 {
		s.rules.Store(nil)
		return
	}
	s.rules.Store(&list)
}

// ID tells the rule from the others of its set, for as long as that is.
func (a *Active) ID() int64 { return a.id }

// Rule is what was added.
func (a *Active) Rule() Rule { return a.rule }

// Count is how many requests the rule has harmed.
func (a *Active) Count() int { return int(a.hurts.Load()) }

// Remove ends the rule. It may be called again.
func (a *Active) Remove() {
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	a.set.publishLocked(slices.DeleteFunc(slices.Clone(a.set.List()), func(other *Active) bool { return other == a }))
}

// take counts a request against Times; false when the rule is used up.
func (a *Active) take() bool {
	if a.rule.Times > 0 && a.left.Add(-1) < 0 {
		return false
	}
	a.hurts.Add(1)
	return true
}
