package txn

import (
	"errors"
	"testing"
)

// TestProducerIDBlocks hands out the ids of several blocks: each once, in order,
// and the next block is there when nine tenths of one are used.
func TestProducerIDBlocks(t *testing.T) {
	blocks, fail := int64(0), false
	broken := errors.New("broken")
	p := NewProducerIDs(func() (int64, int64, error) {
		if fail {
			return 0, 0, broken
		}
		blocks++
		return (blocks - 1) * 1000, 1000, nil
	})
	for want := range int64(3000) {
		got, err := p.Next()
		if err != nil || got != want {
			t.Fatalf("id %d, %v, want %d", got, err, want)
		}
		if wanted := want/1000 + 1 + (want%1000)/900; blocks != wanted {
			t.Fatalf("after id %d: %d blocks, want %d", got, blocks, wanted)
		}
	}
	fail = true
	for want := int64(3000); want < 4000; want++ {
		if got, err := p.Next(); err != nil || got != want {
			t.Fatalf("id %d, %v, want %d from the block that is there", got, err, want)
		}
	}
	if _, err := p.Next(); err != broken {
		t.Errorf("with no block left: %v", err)
	}
	fail = false
	if got, err := p.Next(); err != nil || got != 4000 {
		t.Errorf("id %d, %v", got, err)
	}
}
