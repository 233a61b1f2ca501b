package txn

import "sync"

// ProducerIDs hands out producer ids from blocks that it allocates as needed.
// What is left of a block when the process ends is never used.
type ProducerIDs struct {
	allocate func() (first, n int64, err error)

	mu   sync.Mutex
	next int64 // when left > 0
	left int64
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
	if p.left <= 0 {
		first, n, err := p.allocate()
		if err != nil {
			return -1, err
		}
		p.next, p.left = first, n
	}
	id := p.next
	p.next++
	p.left--
	return id, nil
}
