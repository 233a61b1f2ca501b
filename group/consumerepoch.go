package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// subscriptions is what the members of a group want to read.
type subscriptions struct {
	members int
	names   map[string]int // how many members subscribe by name
	regexes map[string]int // how many by expression
	matched map[string]int // topics that expressions match, and how many do
}

// subscriptionsLocked is what the members want when of those in without are gone
// and m, if it is not nil, is as given.
func (c *consumer) subscriptionsLocked(m *consumerMember, without ...*consumerMember) *subscriptions {
	s := &subscriptions{names: maps.Clone(c.names), regexes: map[string]int{}, matched: map[string]int{}}
	for _, gone := range without {
		if was := c.members[gone.id]; was != nil {
			s.count(was, -1)
		}
	}
	for _, other := range c.members {
		s.members++
		if other.regex != "" {
			s.regexes[other.regex]++
		}
	}
	if m != nil {
		s.count(m, 1)
		s.members++
		if m.regex != "" {
			s.regexes[m.regex]++
		}
	}
	for _, gone := range without {
		if was := c.members[gone.id]; was != nil {
			s.members--
			if was.regex != "" {
				s.regexes[was.regex]--
			}
		}
	}
	for regex, n := range s.regexes {
		if n <= 0 {
			delete(s.regexes, regex)
			continue
		}
		if r := c.regexes[regex]; r != nil {
			s.match(r.topics, 1)
		}
	}
	return s
}

func (s *subscriptions) count(m *consumerMember, n int) {
	for _, name := range m.topics {
		if s.names[name] += n; s.names[name] <= 0 {
			delete(s.names, name)
		}
	}
}

func (s *subscriptions) match(topics []string, n int) {
	for _, name := range topics {
		if s.matched[name] += n; s.matched[name] <= 0 {
			delete(s.matched, name)
		}
	}
}

// topics lists all topics.
func (s *subscriptions) topics() []string {
	all := slices.AppendSeq(make([]string, 0, len(s.names)+len(s.matched)), maps.Keys(s.names))
	for name := range s.matched {
		if s.names[name] == 0 {
			all = append(all, name)
		}
	}
	return all
}

// alike says that all members want the same.
func (s *subscriptions) alike() bool {
	if len(s.regexes) == 0 {
		for _, n := range s.names {
			if n != s.members {
				return false
			}
		}
		return true
	}
	for _, n := range s.regexes {
		if n != s.members {
			return false
		}
	}
	for _, n := range s.matched {
		if n != 1 {
			return false
		}
	}
	return len(s.names) == 0
}

// replacedLocked lists who goes when m comes: it itself as it was, and who had
// its instance id.
func (c *consumer) replacedLocked(m *consumerMember) []*consumerMember {
	var gone []*consumerMember
	if old := c.members[m.id]; old != nil {
		gone = append(gone, old)
	}
	if old := c.staticLocked(m.instanceID); old != nil && old.id != m.id {
		gone = append(gone, old)
	}
	return gone
}

// raiseEpochLocked plans the next epoch of the group when bump says so or the
// topics are not what they were, and returns the epoch.
func (p *consumerPlan) raiseEpochLocked(old, m *consumerMember, bump bool) int32 {
	c := p.c
	topics := c.g.s.c.topics()
	if !bump && c.checked == topics.Version() {
		return c.epoch
	}
	names := c.subscriptionsLocked(m, c.replacedLocked(m)...).topics()
	hash := metadataHash(names, topics)
	p.checked, p.compared = topics.Version(), true
	if !bump && hash == c.hash {
		return c.epoch
	}
	p.epochLocked(hash)
	if c.oldPartitions {
		p.add(partitionsChange{})
	}
	return c.epoch + 1
}

func (p *consumerPlan) epochLocked(hash int64) {
	c := p.c
	p.add(epochChange{c.epoch + 1, hash})
	p.raised = true
	c.g.s.logf(levelInfo, "[GroupId %s] Bumped group epoch to %d with metadata hash %d.", c.g.id, c.epoch+1, hash)
}

// assignorLocked is the assignor that most members ask for once m is as given.
func (c *consumer) assignorLocked(m *consumerMember, set *Settings) string {
	counts := map[string]int{}
	for _, other := range c.members {
		if other.assignor != nil && (m == nil || other.id != m.id) {
			counts[*other.assignor]++
		}
	}
	if m != nil && m.assignor != nil {
		counts[*m.assignor]++
	}
	best := ""
	for _, name := range sortedNames(counts) {
		if best == "" || counts[name] > counts[best] {
			best = name
		}
	}
	if best == "" {
		best = set.Assignors[0]
	}
	return best
}

func (c *consumer) assignorChangesLocked(old, m *consumerMember, set *Settings) bool {
	if equalStrings(old.assignor, m.assignor) {
		return false
	}
	return c.assignorLocked(nil, set) != c.assignorLocked(m, set)
}

// retargetLocked plans a new target assignment when the group's epoch is beyond
// that of the one there is, and it is time for one. It returns the epoch of the
// target and m's part of it.
func (p *consumerPlan) retargetLocked(old, m *consumerMember, epoch int32, set *Settings) (int32, partitionSet, error) {
	c := p.c
	now := nowMs()
	if c.targetEpoch >= epoch || !p.retargetDueLocked(now) {
		return c.targetEpoch, c.targetOfLocked(m), nil
	}
	began := time.Now()
	assignor := c.assignorLocked(m, set)
	spec := c.assignmentSpecLocked(m)
	parts, err := assign(assignor, spec)
	if err != nil {
		c.g.s.logf(levelInfo, "[GroupId %s] Failed to compute a new target assignment for epoch %d: %v.", c.g.id, epoch, err)
		return 0, nil, &Refusal{ErrAssignor, fmt.Sprintf("Failed to compute a new target assignment for epoch %d: %v", epoch, err)}
	}
	c.g.s.logf(levelInfo, "[GroupId %s] Computed a new target assignment for epoch %d with '%s' assignor in %dms.",
		c.g.id, epoch, assignor, time.Since(began).Milliseconds())
	for i := range spec.members {
		member := &spec.members[i]
		if !member.known || !member.part.equal(parts[member.id]) {
			p.add(partChange{member.id, parts[member.id]})
		}
	}
	p.add(targetChange{epoch, now})
	return epoch, parts[m.id], nil
}

// quietShare is the part of the assignment interval that no member may come or
// go for a target to be made before the interval is over.
const quietShare = 10

// retargetDueLocked says whether a target may be made. The interval after the one
// before gathers the members that come together, so that one target serves
// them all; when they have all come, there is nothing left to wait for.
func (p *consumerPlan) retargetDueLocked(now int64) bool {
	c, interval := p.c, int64(p.c.settings().AssignmentIntervalMs)
	if c.targetMs == 0 || now-c.targetMs >= interval {
		return true
	}
	return !p.raised && now-c.raisedMs >= max(1, interval/quietShare)
}

// assignmentSpecLocked is what an assignor works with, once m is as given.
func (c *consumer) assignmentSpecLocked(m *consumerMember) *assignmentSpec {
	topics := c.g.s.c.topics()
	gone := c.replacedLocked(m)
	spec := &assignmentSpec{alike: c.subscriptionsLocked(m, gone...).alike(), partitions: map[topicID]int32{}}
	all := maps.Clone(c.members)
	for _, old := range gone {
		delete(all, old.id)
	}
	all[m.id] = m
	for _, id := range sortedNames(all) {
		member := all[id]
		holder := id
		if before := c.staticLocked(m.instanceID); id == m.id && before != nil {
			holder = before.id
		}
		part, known := c.targets[holder]
		spec.members = append(spec.members, memberSpec{
			id: id, instanceID: member.instanceID, topics: c.topicIDsLocked(member, topics, spec.partitions),
			part: part, known: known,
		})
	}
	return spec
}

// topicIDsLocked lists the topics that a member wants and that are there, in the
// order of their ids, and notes how many partitions they have.
func (c *consumer) topicIDsLocked(m *consumerMember, topics Topics, partitions map[topicID]int32) []topicID {
	var ids []topicID
	add := func(names []string) {
		for _, name := range names {
			if t, ok := topics.ByName(name); ok {
				ids = append(ids, t.ID)
				partitions[t.ID] = t.Partitions
			}
		}
	}
	add(m.topics)
	if r := c.regexes[m.regex]; m.regex != "" && r != nil {
		add(r.topics)
	}
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

// compareIDs orders topic ids as Kafka does: as two signed numbers.
func compareIDs(a, b topicID) int {
	for i := range a {
		x, y := a[i], b[i]
		if i == 0 || i == 8 {
			x, y = x^0x80, y^0x80
		}
		if d := cmp.Compare(x, y); d != 0 {
			return d
		}
	}
	return 0
}
