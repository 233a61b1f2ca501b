package meter

import (
	"sync/atomic"
	"time"
)

const (
	maxKeys     = 128
	maxVersions = 32
)

// Requests counts the requests of a server. The zero Requests has counted nothing.
type Requests struct {
	apis [maxKeys]atomic.Pointer[API] // by key
	busy atomic.Int64                 // ns in handlers, waits not counted
	sent atomic.Int64                 // ns of sending answers
}

// API is the requests of one API. Times are in microseconds, as Kafka's are in ms: LocalTime is that of work, RemoteTime that of
// waiting for records, members or time-outs, SendTime that of handing the answer to the network. Nothing waits in queues here.
type API struct {
	versions [maxVersions]atomic.Int64

	Bytes      Histogram // of requests, with their headers
	LocalTime  Histogram
	RemoteTime Histogram
	SendTime   Histogram
	TotalTime  Histogram
}

// Request is one request that was answered, or closed its connection.
type Request struct {
	Key, Version int16
	Bytes        int
	// Begin is when the request was there, Answered when its handler was done, End when the answer was sent.
	Begin, Answered, End time.Time
	// Waited is how long of the handler's time the handler did nothing but wait.
	Waited time.Duration
}

// Add counts a request. Keys and versions beyond what a table holds are left out.
func (r *Requests) Add(q Request) {
	handled := q.Answered.Sub(q.Begin)
	waited := min(q.Waited, handled)
	sent := q.End.Sub(q.Answered)
	r.busy.Add(int64(handled - waited))
	r.sent.Add(int64(sent))
	if q.Key < 0 || q.Key >= maxKeys || q.Version < 0 || q.Version >= maxVersions {
		return
	}
	a := r.apis[q.Key].Load()
	if a == nil {
		a = r.make(q.Key)
	}
	a.versions[q.Version].Add(1)
	a.Bytes.Add(int64(q.Bytes), q.End)
	a.LocalTime.Add((handled - waited).Microseconds(), q.End)
	a.RemoteTime.Add(waited.Microseconds(), q.End)
	a.SendTime.Add(sent.Microseconds(), q.End)
	a.TotalTime.Add(q.End.Sub(q.Begin).Microseconds(), q.End)
}

// make makes an API's counters, once.
func (r *Requests) make(key int16) *API {
	r.apis[key].CompareAndSwap(nil, &API{})
	return r.apis[key].Load()
}

// API is the counters of an API, nil when it was never asked for.
func (r *Requests) API(key int16) *API {
	if key < 0 || key >= maxKeys {
		return nil
	}
	return r.apis[key].Load()
}

// Busy is the time that handlers have worked, of all connections together.
func (r *Requests) Busy() time.Duration { return time.Duration(r.busy.Load()) }

// Sending is the time that answers took to be sent, of all connections together.
func (r *Requests) Sending() time.Duration { return time.Duration(r.sent.Load()) }

// Versions calls fn for each version that was asked for, with the number of requests.
func (a *API) Versions(fn func(version int16, requests int64)) {
	for v := range a.versions {
		if n := a.versions[v].Load(); n > 0 {
			fn(int16(v), n)
		}
	}
}
