package txn

import "sync"

// ProducerIDs hands out producer ids from blocks that it allocates as needed:
// the next one early, so that a moment in which none can be allocated is not
// noticed. What is left of them when the process ends is never used.
type ProducerIDs struct {
	allocate func() (first, n int64, err error)

	mu    sync.Mutex
	block idBlock
	ahead idBlock // the next one, once most of block is used
}

// idBlock is the ids that are left of a block.
type idBlock struct {
	next, left, size int64
}

// NewProducerIDs returns a source over allocate, which gives a block of n ids
// that no other call gets.
func NewProducerIDs(allocate func() (first, n int64, err error)) *ProducerIDs {
	return &ProducerIDs{allocate: allocate}
}

// Next returns an id that was never given out before. The error is allocate's.
func (p *ProducerIDs) Next() (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.block.left <= 0 {
		p.block, p.ahead = p.ahead, idBlock{}
	}
	if p.block.left <= 0 {
		block, err := p.allocateBlock()
		if err != nil {
			return -1, err
		}
		p.block = block
	}
	id := p.block.next
	p.block.next++
	p.block.left--
	if p.ahead.left <= 0 && p.block.size-p.block.left > p.block.size/10*9 {
		// Kafka does so at the same id. Without success the next one tries again.
		p.ahead, _ = p.allocateBlock()
	}
	return id, nil
}

func (p *ProducerIDs) allocateBlock() (idBlock, error) {
	first, n, err := p.allocate()
	if err != nil {
		return idBlock{}, err
	}
	return idBlock{next: first, left: n, size: n}, nil
}
