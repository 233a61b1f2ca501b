package handlers

import (
	"context"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/partition"
	"minibroker/protocol"
	"minibroker/quota"
)

// anonymous is who all clients are: nothing authenticates them.
const anonymous = "ANONYMOUS"

// clientOf is the client id as quotas see it.
func clientOf(req *protocol.Request) string {
	if req.ClientID == nil {
		return ""
	}
	return *req.ClientID
}

// handleLimited answers a request while quotas are set: it counts what the
// client uses, tells it how long it will not be heard, and sees to that. As in
// Kafka the answer itself does not wait.
func (a *API) handleLimited(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
	meter := &quota.Meter{}
	if a.quotas.Limits(quota.Request) {
		meter.Run()
		defer meter.Pause()
	}
	if req.Key == int16(kmsg.Fetch) {
		return a.answerFetch(ctx, req, meter)
	}
	resp, err := a.routes[req.Key](ctx, req)
	if err != nil || req.Key == int16(kmsg.WriteTxnMarkers) {
		return resp, err // a closed connection is not throttled, nor is what brokers ask each other
	}
	wait := time.Duration(0)
	if req.Key == int16(kmsg.Produce) {
		wait = a.quotas.Record(quota.Produce, anonymous, clientOf(req), float64(req.Bytes), time.Now())
	}
	if !resp.None {
		wait = max(wait, a.throttleRequest(req, meter))
	}
	a.throttle(&resp, wait)
	return resp, nil
}

// throttle tells a client how long it will not be heard, which may be longer
// already for what it changed.
func (a *API) throttle(resp *protocol.Response, wait time.Duration) {
	if told, ok := resp.Body.(kmsg.ThrottleResponse); ok {
		before, _ := told.Throttle()
		wait = max(wait, time.Duration(before)*time.Millisecond)
	}
	resp.Throttle = max(resp.Throttle, wait)
	if answer, ok := resp.Body.(kmsg.SetThrottleResponse); ok && wait > 0 {
		answer.SetThrottle(throttleMillis(wait))
	}
}

// throttleRequest counts the time that a request took.
func (a *API) throttleRequest(req *protocol.Request, meter *quota.Meter) time.Duration {
	if !a.quotas.Limits(quota.Request) {
		return 0
	}
	return a.quotas.Record(quota.Request, anonymous, clientOf(req), meter.Percent(), time.Now())
}

func throttleMillis(wait time.Duration) int32 {
	return int32(min(wait.Milliseconds(), math.MaxInt32))
}

// fitQuota lowers what an answer may hold to what its client may get at all.
func (a *API) fitQuota(req *protocol.Request, body *kmsg.FetchRequest, maxBytes int32) int32 {
	if fromFollower(body) {
		return maxBytes
	}
	return int32(min(int64(maxBytes), a.quotas.MostInWindow(quota.Fetch, anonymous, clientOf(req))))
}

// throttleFetch counts an answer that is ready, and the time that it took. When
// the client is above its quota the answer is not sent, so it is not counted.
func (a *API) throttleFetch(c *fetchCall, req *protocol.Request, body *kmsg.FetchRequest, meter *quota.Meter) time.Duration {
	wait := a.throttleRequest(req, meter)
	if !a.quotas.Limits(quota.Fetch) {
		return wait
	}
	now, size := time.Now(), float64(c.size(body))
	wait = max(wait, a.quotas.Record(quota.Fetch, anonymous, clientOf(req), size, now))
	if wait > 0 {
		a.quotas.Record(quota.Fetch, anonymous, clientOf(req), -size, now)
	}
	return wait
}

// size is the length of the answer that is ready, without sending it.
func (c *fetchCall) size(body *kmsg.FetchRequest) int64 {
	if s := c.session; s == nil {
		c.pick(func(*fetchEntry, *partition.ReadResult) bool { return true })
	} else {
		s.mu.Lock()
		if s.epoch == nextSessionEpoch(body.SessionEpoch) {
			c.pick(func(e *fetchEntry, r *partition.ReadResult) bool {
				return e.at.Value.(*sessionPartition).isNews(e.code, r.HasDiverging, rangeLen(r.Records), r.HighWatermark, r.LogStartOffset)
			})
		}
		s.mu.Unlock()
	}
	c.answer.begin(body.Version, codeNone, noFetchSession)
	c.encode()
	size := int64(4)
	for _, part := range c.answer.end() {
		size += int64(len(part.Bytes))
		if part.Source != nil {
			size += part.Source.Len()
		}
	}
	c.answer.reset()
	c.picked = c.picked[:0]
	return size
}

// throttled is the answer to a client above its quota: nothing but for how long
// it will not be heard. What it asked for is not taken note of.
func (c *fetchCall) throttled(body *kmsg.FetchRequest, wait time.Duration) protocol.Response {
	sessionID, code := int32(noFetchSession), codeNone
	if s := c.session; s != nil {
		s.mu.Lock()
		sessionID = s.id
		if s.epoch != nextSessionEpoch(body.SessionEpoch) {
			code = codeInvalidFetchSessionEpoch
		}
		s.mu.Unlock()
	}
	c.answer.throttle = throttleMillis(wait)
	resp := c.refused(body.Version, code, sessionID)
	resp.Throttle = wait
	return resp
}
