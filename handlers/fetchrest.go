package handlers

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/partition"
	"minibroker/protocol"
)

// A session whose last fetch has waited in vain keeps its place with the partitions (partition.Rest). When the next request changes
// nothing and nothing happens while it waits either, the answer is empty, and neither the session's partitions were listed for it nor any read.

// atRest waits for the session's partitions, and reports whether there is nothing new. The wait of the specification is what is left of it.
func (c *fetchCall) atRest(ctx context.Context, spec *partition.FetchSpec) bool {
	begin := time.Now()
	inVain := c.rest.Wait(ctx, *spec)
	spec.MaxWait = max(0, spec.MaxWait-time.Since(begin))
	return inVain
}

// nothingNew is the answer to a fetch in vain.
func (c *fetchCall) nothingNew(sessions *fetchSessions, body *kmsg.FetchRequest) protocol.Response {
	sessionID, code := c.settle(sessions, body)
	if code == codeNone {
		c.leaveRest(sessions)
	}
	return c.refused(body.Version, code, sessionID)
}

// list lists the partitions of the session after all.
func (c *fetchCall) list() {
	c.endRest()
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.listLocked()
}

// leaveRest keeps what the fetch has left, if it is of a session and was about all partitions of it.
func (c *fetchCall) leaveRest(sessions *fetchSessions) {
	if c.rest != nil && c.session != nil && len(c.reads) == len(c.entries) {
		sessions.leaveRest(c.session, c.rest)
		c.rest = nil
	}
}

func (c *fetchCall) endRest() {
	if c.rest != nil {
		c.rest.End()
		c.rest = nil
	}
}
