package group

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// slot is one partition of a topic.
type slot struct {
	topic topicID
	p     int32
}

func slotsOf(list []TopicPartitions) []slot {
	all := []slot{}
	for _, t := range list {
		for _, p := range t.Partitions {
			all = append(all, slot{t.TopicID, p})
		}
	}
	return all
}

// listOfSlots is the reverse of slotsOf.
func listOfSlots(all []slot) []TopicPartitions {
	s := partitionSet{}
	for _, x := range all {
		s.add(x.topic, x.p)
	}
	return listOf(s)
}

// claims is what the clients of a model read at the moment. No partition may be
// read by two of them.
type claims struct {
	mu     sync.Mutex
	owners map[slot]string
	wrong  []string
}

func newClaims() *claims { return &claims{owners: map[slot]string{}} }

// take says that a client begins to read partitions.
func (c *claims) take(who string, all []slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range all {
		if other := c.owners[s]; other != "" && other != who {
			c.wrong = append(c.wrong, fmt.Sprintf("%s reads %x-%d, which %s still reads", who, s.topic[15], s.p, other))
		}
		c.owners[s] = who
	}
}

// drop says that a client reads some no more.
func (c *claims) drop(who string, all []slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range all {
		if c.owners[s] == who {
			delete(c.owners, s)
		}
	}
}

// dropAll says that a client reads nothing any more.
func (c *claims) dropAll(who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.owners, func(_ slot, owner string) bool { return owner == who })
}

// complain notes a mistake.
func (c *claims) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// mistakes lists what went wrong so far.
func (c *claims) mistakes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.wrong)
}

// all is a copy of who reads what.
func (c *claims) all() map[slot]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.owners)
}
