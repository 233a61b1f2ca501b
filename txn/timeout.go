package txn

import (
	"fmt"
	"time"
)

// noteOpen keeps account of open transactions. While there is one, their
// timeouts are checked; with none, no timer runs.
func (c *Coordinator) noteOpen(t *Txn, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !open {
		delete(c.open, t)
		return
	}
	c.open[t] = struct{}{}
	c.armCheckLocked()
}

// armCheckLocked sets the timer to the next check: they come at a fixed beat,
// as Kafka's do.
func (c *Coordinator) armCheckLocked() {
	if c.check != nil || c.closed || c.readOnly || len(c.open) == 0 {
		return
	}
	beat := max(c.settings.TimeoutCheck, time.Millisecond)
	c.check = time.AfterFunc(beat-time.Since(c.began)%beat, func() { c.inBackground(c.abortTimedOut) })
}

// abortTimedOut fences the producers whose transactions have been open for too long.
func (c *Coordinator) abortTimedOut() {
	c.mu.Lock()
	c.check = nil
	all := make([]*Txn, 0, len(c.open))
	for t := range c.open {
		all = append(all, t)
	}
	c.mu.Unlock()
	for _, t := range all {
		t.mu.Lock()
		if !t.gone.Load() && t.timedOutLocked(time.Now()) {
			c.logger.Info(fmt.Sprintf("Completing the rollback of the timed out transaction of transactionalId %s (producer id %d, epoch %d)",
				t.id, t.producerID, t.epoch))
			_ = c.fenceLocked(t) // logged there; the next check tries again
		}
		t.mu.Unlock()
	}
	c.mu.Lock()
	c.armCheckLocked()
	c.mu.Unlock()
}

func (t *Txn) timedOutLocked(now time.Time) bool {
	return t.state == Ongoing && t.timeoutMs != noTimeout && t.startMs+int64(t.timeoutMs) < now.UnixMilli()
}
