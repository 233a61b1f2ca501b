package group

import (
	"cmp"
	"slices"
)

// maxBalanceRounds is how often the topics are gone through to even out the
// loads. Overlapping subscriptions may take many rounds, each of which brings
// less.
const maxBalanceRounds = 16

// mixed divides partitions among members that want different topics: each keeps
// what it had and still wants, what is left goes to those who have least, and
// then those who have most give to those who have least, topic by topic.
type mixed struct {
	spec        *assignmentSpec
	subscribers map[topicID][]int // places in spec.members, ascending
	owner       map[topicID][]int // by partition; -1 nobody
	load        []int             // partitions that each member has
	order       []topicID         // topics in the order of work
	parts       []partitionSet    // by place
}

func assignMixed(spec *assignmentSpec) map[string]partitionSet {
	x := &mixed{
		spec: spec, subscribers: map[topicID][]int{}, owner: map[topicID][]int{},
		load: make([]int, len(spec.members)), parts: make([]partitionSet, len(spec.members)),
	}
	x.begin()
	for _, id := range x.order {
		x.handOut(id)
	}
	x.balance()
	all := make(map[string]partitionSet, len(x.parts))
	for i, part := range x.parts {
		all[spec.members[i].id] = part
	}
	return all
}

func (x *mixed) begin() {
	for i := range x.spec.members {
		for _, id := range x.spec.members[i].topics {
			x.subscribers[id] = append(x.subscribers[id], i)
		}
	}
	for id, n := range x.spec.partitions {
		x.owner[id] = slices.Repeat([]int{-1}, int(n))
		x.order = append(x.order, id)
	}
	slices.SortFunc(x.order, x.compareTopics)
	for i := range x.spec.members {
		m := &x.spec.members[i]
		x.parts[i] = partitionSet{}
		for id, list := range m.part {
			if !m.wants(id) {
				continue
			}
			for _, p := range list {
				if int(p) < len(x.owner[id]) {
					x.give(id, p, i)
				}
			}
		}
	}
}

// compareTopics puts topics first that have many partitions for each who wants
// them.
func (x *mixed) compareTopics(a, b topicID) int {
	subA, subB := len(x.subscribers[a]), len(x.subscribers[b])
	return cmp.Or(
		cmp.Compare(float64(x.spec.partitions[b])/float64(subB), float64(x.spec.partitions[a])/float64(subA)),
		cmp.Compare(subA, subB), compareIDs(a, b))
}

// give hands a partition to a member, and takes it from who had it.
func (x *mixed) give(id topicID, p int32, to int) {
	if from := x.owner[id][p]; from >= 0 {
		x.parts[from].drop(id, p)
		x.load[from]--
	}
	x.parts[to].add(id, p)
	x.owner[id][p] = to
	x.load[to]++
}

// byLoad lists who wants a topic, the least loaded first.
func (x *mixed) byLoad(id topicID) []int {
	list := slices.Clone(x.subscribers[id])
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(x.load[a], x.load[b]) })
	return list
}

// least is the first of those with the smallest load.
func (x *mixed) least(list []int) int {
	return slices.MinFunc(list, func(a, b int) int { return cmp.Compare(x.load[a], x.load[b]) })
}

// handOut gives the partitions of a topic that nobody has to who wants it.
func (x *mixed) handOut(id topicID) {
	var list []int
	for p, owner := range x.owner[id] {
		if owner >= 0 {
			continue
		}
		if list == nil {
			list = x.byLoad(id)
		}
		x.give(id, int32(p), x.least(list))
	}
}

// balance goes through the topics until none has changed for a whole round.
func (x *mixed) balance() {
	shared := slices.DeleteFunc(slices.Clone(x.order), func(id topicID) bool { return len(x.subscribers[id]) < 2 })
	last := -1
	for range maxBalanceRounds {
		for i, id := range shared {
			if i == last {
				return
			}
			if x.balanceTopic(id) || last < 0 {
				last = i
			}
		}
	}
}

// balanceTopic moves partitions of a topic from who has most to who has least,
// until they differ by one or those who have most have none of this topic. It
// says whether it moved any.
func (x *mixed) balanceTopic(id topicID) bool {
	list := x.byLoad(id)
	if x.load[list[len(list)-1]]-x.load[list[0]] <= 1 {
		return false
	}
	stacks := map[int][]int32{} // partitions of the topic that each may give
	for p, owner := range x.owner[id] {
		stacks[owner] = append(stacks[owner], int32(p))
	}
	// Those who have nothing to give are put behind those who have.
	givers, moved := len(list), false
	for givers > 0 {
		at := x.most(list[:givers])
		from := list[at]
		stack := stacks[from]
		if len(stack) == 0 {
			list[at], list[givers-1] = list[givers-1], list[at]
			givers--
			continue
		}
		to := x.least(list)
		if x.load[from]-x.load[to] <= 1 {
			break
		}
		stacks[from] = stack[:len(stack)-1]
		x.give(id, stack[len(stack)-1], to)
		moved = true
	}
	return moved
}

// most is the place of the last of those with the largest load.
func (x *mixed) most(list []int) int {
	best := 0
	for i := range list {
		if x.load[list[i]] >= x.load[list[best]] {
			best = i
		}
	}
	return best
}
