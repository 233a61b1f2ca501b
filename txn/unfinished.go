package txn

import (
	"errors"
	"fmt"
	"time"
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// needless says whether a marker that was refused is not needed any more.
func (c *Coordinator) needless(t *Txn, p Partition, err error) bool {
	if !errors.Is(err, ErrNoPartition) && !errors.Is(err, ErrStale) {
		return false
	}
	c.logger.Info(fmt.Sprintf("No marker of transactionalId %s is needed on %s-%d: %v", t.id, p.Topic, p.Partition, err))
	return true
}

// noteUnfinished has the markers of t tried again.
func (c *Coordinator) noteUnfinished(t *Txn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unfinished[t] = struct{}{}
	if c.retry != nil || c.closed || c.readOnly {
		return
	}
	c.retryDelay = min(max(2*c.retryDelay, firstRetry), lastRetry)
	c.retry = time.AfterFunc(c.retryDelay, func() { c.inBackground(c.finishRest) })
}

// inBackground runs the function of a timer unless the coordinator is closed.
func (c *Coordinator) inBackground(work func()) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.working.Add(1)
	c.mu.Unlock()
	defer c.working.Done()
	work()
}

// finishRest tries all unfinished transactions once more.
func (c *Coordinator) finishRest() {
	c.mu.Lock()
	rest := make([]*Txn, 0, len(c.unfinished))
	for t := range c.unfinished {
		rest = append(rest, t)
	}
	clear(c.unfinished)
	c.retry = nil
	c.mu.Unlock()
	for _, t := range rest {
		t.mu.Lock()
		if !t.gone.Load() && t.state.prepared() {
			c.finishLocked(t)
		}
		t.mu.Unlock()
	}
	c.mu.Lock()
	if len(c.unfinished) == 0 {
		c.retryDelay = 0
	}
	c.mu.Unlock()
}
