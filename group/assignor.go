package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The assignors that divide partitions among the members of a consumer group.
// Both are deterministic and, like Kafka's, do not look at racks.
const (
	UniformAssignor = "uniform"
	RangeAssignor   = "range"
)

// assignmentSpec is what an assignor works with.
type assignmentSpec struct {
	members    []memberSpec      // in the order of a Java map
	partitions map[topicID]int32 // of each topic that somebody wants
	alike      bool              // all members want the same topics
}

type memberSpec struct {
	id         string
	instanceID *string
	topics     []topicID    // sorted by id
	part       partitionSet // of the target before; not changed
	known      bool         // there was one
}

func (m *memberSpec) wants(id topicID) bool {
	_, found := slices.BinarySearchFunc(m.topics, id, compareIDs)
	return found
}

// assign divides the partitions with an assignor. A member that gets nothing
// may be missing from the result. Parts of before may be in it.
func assign(assignor string, spec *assignmentSpec) (map[string]partitionSet, error) {
	switch assignor {
	case RangeAssignor:
		return assignRange(spec), nil
	case UniformAssignor:
		if spec.alike {
			return assignUniform(spec), nil
		}
		return assignMixed(spec), nil
	}
	return nil, fmt.Errorf("there is no assignor %q", assignor)
}

// assignRange gives each member a range of each topic, so that the same numbers
// of different topics go to the same member. The first members get one more
// when there is a rest.
func assignRange(spec *assignmentSpec) map[string]partitionSet {
	members := slices.Clone(spec.members)
	slices.SortStableFunc(members, compareForRange)
	subscribers := map[topicID]int32{}
	for i := range members {
		for _, id := range members[i].topics {
			subscribers[id]++
		}
	}
	type progress struct{ next, handed int32 }
	done := map[topicID]progress{}
	parts := make(map[string]partitionSet, len(members))
	for i := range members {
		m := &members[i]
		part := partitionSet{}
		for _, id := range m.topics {
			all, n, at := spec.partitions[id], subscribers[id], done[id]
			quota := all / n
			if at.handed < all%n {
				quota++
			}
			end := min(at.next+quota, all)
			for p := at.next; p < end; p++ {
				part[id] = append(part[id], p)
			}
			done[id] = progress{end, at.handed + 1}
		}
		parts[m.id] = part
	}
	return parts
}

// compareForRange puts static members first, by their instance ids.
func compareForRange(a, b memberSpec) int {
	switch {
	case a.instanceID != nil && b.instanceID != nil:
		return strings.Compare(*a.instanceID, *b.instanceID)
	case a.instanceID != nil:
		return -1
	case b.instanceID != nil:
		return 1
	}
	return cmp.Compare(a.id, b.id)
}

// assignUniform gives members that all want the same as equal numbers as can
// be, and leaves with each what it had as far as that goes.
func assignUniform(spec *assignmentSpec) map[string]partitionSet {
	parts := make(map[string]partitionSet, len(spec.members))
	if len(spec.members) == 0 || len(spec.partitions) == 0 {
		return parts
	}
	total, free := int32(0), spec.unassigned()
	for _, n := range spec.partitions {
		total += n
	}
	n := int32(len(spec.members))
	quota, rest := total/n, total%n
	left := make([]int32, len(spec.members)) // how many more each gets
	for i := range spec.members {
		m := &spec.members[i]
		left[i] = quota
		if rest > 0 {
			left[i]++
			rest--
		}
		part := partitionSet{}
		for _, id := range m.part.topics() {
			count, wanted := spec.partitions[id]
			if !wanted {
				continue
			}
			for _, p := range m.part[id] {
				switch {
				case p >= count:
				case left[i] > 0:
					left[i]--
					part[id] = append(part[id], p)
				default:
					free = append(free, topicPartition{id, p})
				}
			}
		}
		parts[m.id] = part
	}
	for i := range spec.members {
		for ; left[i] > 0 && len(free) > 0; left[i]-- {
			parts[spec.members[i].id].add(free[0].id, free[0].partition)
			free = free[1:]
		}
	}
	return parts
}

type topicPartition struct {
	id        topicID
	partition int32
}

// unassigned lists the partitions that nobody had.
func (s *assignmentSpec) unassigned() []topicPartition {
	var free []topicPartition
	had := map[topicPartition]bool{}
	for i := range s.members {
		for id, list := range s.members[i].part {
			for _, p := range list {
				had[topicPartition{id, p}] = true
			}
		}
	}
	var table hashTable
	table.grow(len(s.partitions))
	for _, id := range sortedIDs(maps.Keys(s.partitions), table.size) {
		for p := range s.partitions[id] {
			if at := (topicPartition{id, p}); !had[at] {
				free = append(free, at)
			}
		}
	}
	return free
}
