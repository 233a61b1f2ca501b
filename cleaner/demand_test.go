package cleaner

import (
	"context"
	"errors"
	"testing"
	"time"

	"minibroker/logstore"
)

// TestCompactOnDemand: a log that is not due is cleaned at once, once, and not before a thread has let go of it.
func TestCompactOnDemand(t *testing.T) {
	k := newKeyed(t, func(c *logstore.Config) { c.MinCleanableRatio = 1 })
	k.segments(3)
	log := k.log("t")
	if k.cleaner.Round(t.Context()) {
		t.Fatal("the log was due")
	}
	if claimed, _ := k.cleaner.claim(log, time.Now(), outlook{}); !claimed {
		t.Fatal("the log cannot be claimed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := k.cleaner.Compact(ctx, wholePartition{log}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while a thread has it: %v", err)
	}
	k.cleaner.release(log)
	must(t, log.Roll())
	must(t, log.Roll()) // an empty segment stays
	before := log.Size()
	must(t, k.cleaner.Compact(t.Context(), wholePartition{log}))
	after := log.Size()
	must(t, k.cleaner.Compact(t.Context(), wholePartition{log}))
	if after >= before || log.Size() != after || len(log.Segments()) > 2 {
		t.Errorf("%d bytes before, %d after, then %d in %d segments", before, after, log.Size(), len(log.Segments()))
	}
	must(t, k.cleaner.Retain(t.Context(), wholePartition{log}))
	cfg := log.Config()
	cfg.Compact = false
	log.SetConfig(cfg)
	if err := k.cleaner.Compact(t.Context(), wholePartition{log}); !errors.Is(err, ErrNotCompacted) {
		t.Errorf("a log that is not compacted: %v", err)
	}
	if err := k.cleaner.Retain(t.Context(), wholePartition{log}); !errors.Is(err, logstore.ErrUnknownLog) {
		t.Errorf("retention of a log that is not compacted: %v", err)
	}
}
