package logstore

import "sync"

const (
	recentWays = 4
	// recentSets is how many sets there are once several readers go through a log at different places.
	recentSets = 64
	// missesToGrow is how often a place is not found before that is concluded.
	missesToGrow = 256
)

// recentPositions remembers where the last reads ended, so that a reader that goes on there needs no index: the last four
// of a log with few readers, and of one with many those of 64 sets, by offset, with room for four each.
type recentPositions struct {
	mu     sync.Mutex
	misses int
	few    recentSet
	many   *[recentSets]recentSet // nil until it is worth its 7 KB
}

// recentSet is replaced in the order of coming.
type recentSet struct {
	slots [recentWays]recentPosition
	next  uint8
}

type recentPosition struct {
	segment *segment
	offset  int64
	pos     int64
}

// setLocked is where an offset is looked for.
func (p *recentPositions) setLocked(offset int64) *recentSet {
	if p.many == nil {
		return &p.few
	}
	// The bits of a product with 2^64 over the golden ratio depend on all lower ones, so the highest spread best.
	return &p.many[uint64(offset)*0x9e3779b97f4a7c15>>(64-6)]
}

func (p *recentPositions) find(s *segment, offset int64) (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.setLocked(offset).find(s, offset); at != nil {
		return at.pos, true
	}
	if p.misses++; p.misses == missesToGrow {
		p.many = new([recentSets]recentSet)
	}
	return 0, false
}

// note remembers that the batch with offset, or the first after it, begins at
// pos of the segment, now or later.
func (p *recentPositions) note(s *segment, offset, pos int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.setLocked(offset)
	if set.find(s, offset) != nil {
		return
	}
	set.slots[set.next%recentWays] = recentPosition{segment: s, offset: offset, pos: pos}
	set.next++
}

func (set *recentSet) find(s *segment, offset int64) *recentPosition {
	for i := range set.slots {
		if at := &set.slots[i]; at.offset == offset && at.segment == s {
			return at
		}
	}
	return nil
}

// forget drops what refers to segments that left the log.
func (p *recentPositions) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.few, p.many, p.misses = recentSet{}, nil, 0
}
