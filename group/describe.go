package group

import (
	"slices"
	"strings"
)

// Listed is a group in a list.
type Listed struct {
	ID           string
	ProtocolType string
	State        string
	Kind         Kind
}

// List returns the groups that are in one of the given states and of one of the
// given kinds, by names without regard to case; an empty filter lets all pass.
// Errors are those of a coordinator that cannot be asked.
func (c *Coordinator) List(states, kinds []string) ([]Listed, error) {
	shards, err := c.loaded()
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, s := range shards {
		for _, g := range s.all() {
			g.mu.Lock()
			l := Listed{g.id, g.machine.protocolTypeLocked(), g.machine.stateLocked(), g.machine.kind()}
			gone := g.gone
			g.mu.Unlock()
			if !gone && passes(states, l.State) && passes(kinds, l.Kind.String()) {
				all = append(all, l)
			}
		}
	}
	return all, nil
}

func passes(filter []string, name string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, name) })
}

// Description is a classic group.
type Description struct {
	State        string
	ProtocolType string
	Protocol     string // "" unless the group is stable
	Members      []MemberDescription
}

// MemberDescription is a member of a classic group. Its bytes must not be
// changed.
type MemberDescription struct {
	ID         string
	InstanceID *string
	ClientID   string
	ClientHost string
	Metadata   []byte // nil unless the group is stable
	Assignment []byte
}

// Describe returns a classic group. Errors: ErrGroupNotFound, also for groups of
// another kind, and those of a coordinator that cannot be asked.
func (c *Coordinator) Describe(id string) (*Description, error) {
	s, err := c.shardOf(id)
	if err != nil {
		return nil, err
	}
	g := s.find(id)
	if g == nil {
		return nil, notFound(id)
	}
	defer g.mu.Unlock()
	classic, ok := g.machine.(*classic)
	if !ok {
		return nil, &Refusal{ErrGroupNotFound, "Group " + id + " is not a classic group."}
	}
	return classic.describeLocked(), nil
}

func (c *classic) describeLocked() *Description {
	d := &Description{State: c.stateLocked(), ProtocolType: c.protocolType}
	stable := c.state == Stable
	if stable && c.protocol != nil {
		d.Protocol = *c.protocol
	}
	for _, m := range c.orderedLocked() {
		described := MemberDescription{m.id, m.instanceID, m.clientID, m.clientHost, nil, m.assignment}
		if stable {
			described.Metadata = m.metadataFor(c.protocol)
		}
		d.Members = append(d.Members, described)
	}
	return d
}
