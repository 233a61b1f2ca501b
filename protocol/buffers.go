package protocol

import "sync"

// bufferClasses are the capacities that are pooled. The larger ones leave room
// for the frame around a batch or a fetch of a round number of bytes.
var bufferClasses = [...]int{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1<<20 + 64<<10, largestClass}

// largestClass is the capacity of the largest buffers that are pooled by class.
const largestClass = 4<<20 + 64<<10

// Buffers is a pool of byte buffers in a few sizes, and of larger ones for as
// long as they are needed again and again. The zero value is ready.
type Buffers struct {
	pools [len(bufferClasses)]sync.Pool
	large largeBuffers
}

// Buffer is a pooled slice of bytes; B may be appended to, cut on both sides and replaced.
type Buffer struct {
	B     []byte
	whole []byte // as the pool gave it
	large mapping
}

func newBuffer(n int) *Buffer {
	b := &Buffer{B: make([]byte, 0, n)}
	b.whole = b.B
	return b
}

// Get returns an empty buffer that holds at least n bytes without growing.
func (p *Buffers) Get(n int) *Buffer {
	for i, size := range bufferClasses {
		if n > size {
			continue
		}
		if b, ok := p.pools[i].Get().(*Buffer); ok {
			return b
		}
		return newBuffer(size)
	}
	if b := p.large.get(n); b != nil {
		return b
	}
	return newBuffer(n)
}

// Put gives a buffer back, which must not be used afterwards; nil is allowed.
// One that is smaller than all classes is left to the garbage collector.
func (p *Buffers) Put(b *Buffer) {
	if b == nil {
		return
	}
	if b.large.bytes != nil {
		p.large.put(b, cap(b.whole)-cap(b.B)+len(b.B))
		return
	}
	if cap(b.B) < cap(b.whole) {
		b.B = b.whole
	}
	if cap(b.B) > 2*bufferClasses[len(bufferClasses)-1] {
		return
	}
	for i := len(bufferClasses) - 1; i >= 0; i-- {
		if cap(b.B) >= bufferClasses[i] {
			b.B = b.B[:0]
			b.whole = b.B
			p.pools[i].Put(b)
			return
		}
	}
}

// Grow returns a buffer with the same bytes and room for n more; the old one,
// unless it has the room, goes back to the pool.
func (p *Buffers) Grow(b *Buffer, n int) *Buffer {
	if cap(b.B)-len(b.B) >= n {
		return b
	}
	larger := p.Get(len(b.B) + n)
	larger.B = append(larger.B, b.B...)
	p.Put(b)
	return larger
}
