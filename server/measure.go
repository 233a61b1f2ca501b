package server

import (
	"time"

	"minibroker/meter"
)

// measurement is the times of one request; its zero value measures nothing.
type measurement struct {
	conn    *conn
	request meter.Request
}

// measure begins to measure the request that is there, if requests are counted.
func (c *conn) measure() measurement {
	if c.server.opts.Requests == nil {
		return measurement{}
	}
	c.req.Waited = 0
	return measurement{conn: c, request: meter.Request{
		Key: c.req.Key, Version: c.req.Version, Bytes: c.requestBytes, Begin: time.Now(),
	}}
}

// answered notes that the handler is done.
func (m *measurement) answered() {
	if m.conn != nil {
		m.request.Answered, m.request.Waited = time.Now(), m.conn.req.Waited
	}
}

// end counts the request. One whose handler panicked was never answered and is not counted.
func (m *measurement) end() {
	if m.conn != nil {
		m.request.End = time.Now()
		m.conn.server.opts.Requests.Add(m.request)
	}
}
