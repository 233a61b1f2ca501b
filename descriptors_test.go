package minibroker

import (
	"math"
	"testing"
)

// TestDescriptorsAreDivided: what may be open together fits into the limit, and a large limit changes nothing.
func TestDescriptorsAreDivided(t *testing.T) {
	for limit := 128; limit <= 1<<20; limit *= 2 {
		d := divideDescriptors(limit)
		if most := 2*2*d.segments + d.connections; most >= limit || d.connections < limit/2 || d.segments < 8 {
			t.Errorf("of %d: %d segments, %d connections", limit, d.segments, d.connections)
		}
	}
	for _, want := range []descriptors{
		{limit: 256, segments: 16, connections: 176},
		{limit: 1024, segments: 64, connections: 704},
		{limit: 262144, segments: 1024, connections: 257984},
		{limit: math.MaxInt32, segments: 1024},
	} {
		if got := divideDescriptors(want.limit); got != want {
			t.Errorf("of %d: %+v", want.limit, got)
		}
	}
}
