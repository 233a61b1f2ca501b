package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// specOf makes a spec of members who want the given topics; the number of a
// topic's partitions is ten times its id.
func specOf(wants map[string][]byte) *assignmentSpec {
	s := &assignmentSpec{alike: true, partitions: map[topicID]int32{}}
	for _, id := range sortedNames(wants) {
		m := memberSpec{id: id}
		for _, n := range wants[id] {
			topic := topicID{15: n}
			m.topics = append(m.topics, topic)
			s.partitions[topic] = 10 * int32(n)
		}
		slices.SortFunc(m.topics, compareIDs)
		s.members = append(s.members, m)
		s.alike = s.alike && slices.Equal(m.topics, s.members[0].topics)
	}
	return s
}

// next is the spec after the parts have become the target.
func (s *assignmentSpec) next(parts map[string]partitionSet, members ...string) *assignmentSpec {
	n := &assignmentSpec{alike: s.alike, partitions: s.partitions}
	byID := map[string]memberSpec{}
	for _, m := range s.members {
		m.part, m.known = parts[m.id], true
		byID[m.id] = m
	}
	for _, id := range members {
		m, ok := byID[id]
		if !ok {
			m = memberSpec{id: id, topics: s.members[0].topics}
		}
		n.members = append(n.members, m)
	}
	return n
}

func count(s partitionSet) int {
	n := 0
	for _, list := range s {
		n += len(list)
	}
	return n
}

// checkParts fails unless every partition that somebody wants is with one who
// wants it, and with nobody else.
func checkParts(t *testing.T, s *assignmentSpec, parts map[string]partitionSet) {
	t.Helper()
	owner := map[topicPartition]string{}
	for i := range s.members {
		m := &s.members[i]
		for id, list := range parts[m.id] {
			if !m.wants(id) {
				t.Fatalf("%s got a topic that it does not want", m.id)
			}
			if !slices.IsSorted(list) {
				t.Fatalf("partitions %v", list)
			}
			for _, p := range list {
				at := topicPartition{id, p}
				if other, taken := owner[at]; taken {
					t.Fatalf("%v is with %s and with %s", at, other, m.id)
				}
				owner[at] = m.id
			}
		}
	}
	all := 0
	for _, n := range s.partitions {
		all += int(n)
	}
	if len(owner) != all {
		t.Fatalf("%d of %d partitions are assigned", len(owner), all)
	}
}

func TestRangeAssignor(t *testing.T) {
	s := specOf(map[string][]byte{"m3": {1, 2}, "m1": {1, 2}, "m2": {1}})
	parts, err := assign(RangeAssignor, s)
	if err != nil {
		t.Fatal(err)
	}
	checkParts(t, s, parts)
	one, two := topicID{15: 1}, topicID{15: 2}
	if !slices.Equal(parts["m1"][one], []int32{0, 1, 2, 3}) || !slices.Equal(parts["m2"][one], []int32{4, 5, 6}) ||
		!slices.Equal(parts["m3"][one], []int32{7, 8, 9}) || parts["m1"][two][9] != 9 || parts["m3"][two][0] != 10 {
		t.Errorf("%v", parts)
	}
	// Static members come first.
	name := "z"
	for i := range s.members {
		if s.members[i].id == "m3" {
			s.members[i].instanceID = &name
		}
	}
	if parts := assignRange(s); parts["m3"][one][0] != 0 {
		t.Errorf("%v", parts)
	}
}

func TestUniformAssignorKeepsWhatItCan(t *testing.T) {
	s := specOf(map[string][]byte{"m1": {1}, "m2": {1}, "m3": {1}})
	parts, err := assign(UniformAssignor, s)
	if err != nil {
		t.Fatal(err)
	}
	checkParts(t, s, parts)
	joined := s.next(parts, "m1", "m2", "m3", "m4")
	after, _ := assign(UniformAssignor, joined)
	checkParts(t, joined, after)
	for _, id := range []string{"m1", "m2", "m3"} {
		for topic, list := range after[id] {
			for _, p := range list {
				if !parts[id].has(topic, p) {
					t.Errorf("%s was given %d when somebody else joined", id, p)
				}
			}
		}
	}
	for id, part := range after {
		if n := count(part); n < 2 || n > 3 {
			t.Errorf("%s has %d of 10", id, n)
		}
	}
	left := joined.next(after, "m1", "m2")
	last, _ := assign(UniformAssignor, left)
	checkParts(t, left, last)
	for _, id := range []string{"m1", "m2"} {
		for topic, list := range after[id] {
			for _, p := range list {
				if !last[id].has(topic, p) {
					t.Errorf("%s lost %d when others left", id, p)
				}
			}
		}
	}
}

// TestUniformAssignorMixed tries many subscriptions: everything is assigned,
// loads differ by one among those who want the same, and a second run changes
// nothing.
func TestUniformAssignorMixed(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		wants := map[string][]byte{}
		for i := range 1 + random.IntN(8) {
			var topics []byte
			for n := byte(1); n <= 4; n++ {
				if random.IntN(2) == 0 {
					topics = append(topics, n)
				}
			}
			wants[fmt.Sprintf("m%d", i)] = topics
		}
		s := specOf(wants)
		s.alike = false
		parts := assignMixed(s)
		checkParts(t, s, parts)
		for a := range wants {
			for b := range wants {
				if slices.Equal(wants[a], wants[b]) && count(parts[a]) > count(parts[b])+1 {
					t.Fatalf("seed %d: %s has %d, %s has %d", seed, a, count(parts[a]), b, count(parts[b]))
				}
			}
		}
		again := s.next(parts, sortedNames(wants)...)
		if second := assignMixed(again); !maps.EqualFunc(parts, second, partitionSet.equal) {
			t.Fatalf("seed %d: not stable:\n%v\n%v", seed, parts, second)
		}
	}
}
