package handlers

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
)

// sessionOfMany begins a session of many partitions, with these records in the one in the middle, and returns the request that goes on with it.
func sessionOfMany(b *testing.B, records ...string) (*dataAPI, *kmsg.FetchRequest) {
	a := newDataAPI(b)
	const partitions = 1000
	id := a.topic("t", partitions, func(c *logstore.Config) { c.IndexBytes = 16 })
	for _, record := range records {
		a.mustProduce("t", partitions/2, record)
	}
	var places []int
	for i := range partitions {
		places = append(places, i, 0)
	}
	full := inSession(fetchFrom("", id, places...), 0, 0)
	body := inSession(fetchFrom("", id), answered[*kmsg.FetchResponse](a, 17, full).SessionID, 0)
	body.Version = 17
	return a, body
}

// goOn measures how a session goes on, with answers of so many parts.
func goOn(b *testing.B, ctx context.Context, a *dataAPI, body *kmsg.FetchRequest, parts int) {
	request := &protocol.Request{Key: 1, Version: body.Version, Body: body, Listener: "PLAINTEXT"}
	b.ReportAllocs()
	for b.Loop() {
		body.SessionEpoch++
		response, err := a.Handle(ctx, request)
		if err != nil || len(response.Parts) != parts {
			b.Fatal(response, err)
		}
		response.Release()
	}
}

// BenchmarkSession measures a fetch in a session of many partitions of which
// one has records.
func BenchmarkSession(b *testing.B) {
	a, body := sessionOfMany(b, "x")
	goOn(b, b.Context(), a, body, 2)
}

// BenchmarkSessionAtRest measures a fetch in a session of many partitions to which nothing comes, without the time that it waits:
// that is over at once.
func BenchmarkSessionAtRest(b *testing.B) {
	a, body := sessionOfMany(b)
	body.MinBytes, body.MaxWaitMillis = 1, 500
	over, cancel := context.WithCancel(b.Context())
	cancel()
	goOn(b, over, a, body, 1)
}
