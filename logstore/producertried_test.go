package logstore

import (
	"errors"
	"testing"
	"time"

	"minibroker/internal/vfs"
)

// TestTriedBatches follows what a producer tries before its transaction begins.
func TestTriedBatches(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	p, err := openProducerState(vfs.NewMem(), "/d", nil, 60_000)
	must(t, err)
	begins := func(epoch int16, sequence int32, bumps bool, want bool) {
		t.Helper()
		if got, err := p.beginning(7, epoch, sequence, bumps, now); err != nil || got != want {
			t.Errorf("sequence %d begins: %v, %v", sequence, got, err)
		}
	}
	check := func(epoch int16, sequence int32, want error) {
		t.Helper()
		if _, err := p.check(dataBatch(7, epoch, sequence, 1, 0, true), producerCheck{origin: Client}); !errors.Is(err, want) {
			t.Errorf("epoch %d, sequence %d: %v, want %v", epoch, sequence, err, want)
		}
	}
	apply := func(b []byte) {
		t.Helper()
		_, err := p.update(b)
		must(t, err)
	}
	check(0, 5, nil) // nothing was tried, nothing is known
	begins(0, 5, false, true)
	begins(0, 3, false, true)
	begins(0, 4, false, true)
	check(0, 4, ErrOutOfOrderSequence)
	check(0, 3, nil)
	begins(1, 9, false, true) // another epoch begins anew
	begins(0, 1, false, true) // one that is over changes nothing
	check(1, 10, ErrOutOfOrderSequence)
	check(1, 9, nil)
	apply(dataBatch(7, 1, 9, 1, 0, true))
	if len(p.tried) != 0 {
		t.Error("tried batches are kept after the transaction began")
	}
	begins(1, 10, false, false)
	if _, err := p.beginning(7, 0, 0, false, now); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("epoch that is over: %v", err)
	}
	// Under version 2 the marker of the transaction before raises the epoch to the one of the next.
	begins(2, 2, true, true)
	apply(markerBatch(7, 2, 1, 2000, true, 0))
	check(2, 3, ErrOutOfOrderSequence)
	apply(markerBatch(7, 3, 2, 2000, false, 0)) // its own end
	if len(p.tried) != 0 {
		t.Error("tried batches are kept after the transaction ended")
	}
}

// TestTriedBatchesAreBounded forgets those that never come again, by time and by number.
func TestTriedBatchesAreBounded(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	p, err := openProducerState(vfs.NewMem(), "/d", nil, 60_000)
	must(t, err)
	for id := range int64(mostTried + 500) {
		if _, err := p.beginning(id, 0, 0, false, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.tried) != mostTried {
		t.Errorf("%d are kept", len(p.tried))
	}
	p.removeExpired(now.Add(59 * time.Second))
	if len(p.tried) != mostTried {
		t.Error("they went too early")
	}
	p.removeExpired(now.Add(60 * time.Second))
	if len(p.tried) != 0 {
		t.Errorf("%d are left after their time", len(p.tried))
	}
}
