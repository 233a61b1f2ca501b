package handlers

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
)

// BenchmarkSession measures a fetch in a session of many partitions of which
// one has records.
func BenchmarkSession(b *testing.B) {
	a := newDataAPI(b)
	const partitions = 1000
	id := a.topic("t", partitions, func(c *logstore.Config) { c.IndexBytes = 16 })
	a.mustProduce("t", partitions/2, "x")
	var places []int
	for i := range partitions {
		places = append(places, i, 0)
	}
	full := inSession(fetchFrom("", id, places...), 0, 0)
	s := answered[*kmsg.FetchResponse](a, 17, full).SessionID
	body := inSession(fetchFrom("", id), s, 0)
	body.Version = 17
	request := &protocol.Request{Key: 1, Version: 17, Body: body, Listener: "PLAINTEXT"}
	b.ReportAllocs()
	for b.Loop() {
		body.SessionEpoch++
		response, err := a.Handle(b.Context(), request)
		if err != nil || len(response.Parts) != 2 {
			b.Fatal(response, err)
		}
		response.Release()
	}
}

// BenchmarkSessionAtRest measures a fetch in a session of many partitions to which nothing comes, without the time that it waits:
// that is over at once.
func BenchmarkSessionAtRest(b *testing.B) {
	a := newDataAPI(b)
	const partitions = 1000
	id := a.topic("t", partitions, func(c *logstore.Config) { c.IndexBytes = 16 })
	var places []int
	for i := range partitions {
		places = append(places, i, 0)
	}
	full := inSession(fetchFrom("", id, places...), 0, 0)
	s := answered[*kmsg.FetchResponse](a, 17, full).SessionID
	body := inSession(fetchFrom("", id), s, 0)
	body.Version, body.MinBytes, body.MaxWaitMillis = 17, 1, 500
	request := &protocol.Request{Key: 1, Version: 17, Body: body, Listener: "PLAINTEXT"}
	over, cancel := context.WithCancel(b.Context())
	cancel()
	b.ReportAllocs()
	for b.Loop() {
		body.SessionEpoch++
		response, err := a.Handle(over, request)
		if err != nil || len(response.Parts) != 1 {
			b.Fatal(response, err)
		}
		response.Release()
	}
}
