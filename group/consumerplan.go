package group

import (
	"minibroker/record"
)

// consumerPlan is what is about to happen to a consumer group. Nothing has
// happened before commitLocked has written it.
type consumerPlan struct {
	c       *consumer
	before  []record.Record  // records that come first: what the group was
	changes []consumerChange // to the group
	raised  bool             // the epoch is one of the changes
	resolve bool             // the regular expressions are to be resolved
	settled *consumerMember  // whose progress has changed, for its rebalance timer

	joined    []*member // members of a classic group that go on in this one
	unsettled bool      // that group was about to divide the partitions anew

	compared bool  // the group's hash was compared with the topics
	checked  int64 // of this version
}

func (p *consumerPlan) add(change consumerChange) { p.changes = append(p.changes, change) }

// recordsLocked is what the plan writes.
func (p *consumerPlan) recordsLocked() []record.Record {
	records := p.before
	for _, change := range p.changes {
		records = append(records, recordOf(p.c.g.id, change))
	}
	return records
}

// commitLocked writes the plan as one batch and follows it.
func (p *consumerPlan) commitLocked() error {
	c := p.c
	records := p.recordsLocked()
	if len(records) > 0 {
		if _, err := c.g.s.appendLocked(records); err != nil {
			return err
		}
	}
	for _, change := range p.changes {
		change.applyLocked(c)
	}
	if c.g.machine != machine(c) {
		c.g.machine.stopLocked(ErrRebalanceInProgress)
		c.g.machine = c
	}
	for _, m := range p.joined {
		if c.members[m.id] != nil {
			c.extendSessionLocked(m.id, m.sessionTimeoutMs)
		}
	}
	p.afterLocked()
	if len(p.changes) > 0 {
		c.changedMs = nowMs()
	}
	if p.raised {
		c.raisedMs = c.changedMs
	}
	return nil
}

func (p *consumerPlan) afterLocked() {
	c := p.c
	if p.compared {
		c.checked = p.checked
	}
	if m := p.settled; m != nil && m.classic == nil {
		if m.state == memberUnrevoked {
			c.armRebalanceLocked(m)
		} else {
			c.timersLocked(m.id).rebalance.stopLocked()
		}
	}
	if p.resolve && !c.resolving {
		c.resolving = true
		c.regexTimer.setLocked(c.g, 0, c.resolveLocked)
	}
}
