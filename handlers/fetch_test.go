package handlers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
	"minibroker/record"
)

// fetchFrom asks for partitions of a topic: partition, offset, partition,
// offset, ...
func fetchFrom(topic string, id [16]byte, places ...int) *kmsg.FetchRequest {
	request := kmsg.NewPtrFetchRequest()
	request.MaxBytes, request.MinBytes = 1<<20, 1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, id
	for i := 0; i < len(places); i += 2 {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(places[i]), int64(places[i+1]), 1<<20
		t.Partitions = append(t.Partitions, p)
	}
	if len(places) > 0 {
		request.Topics = append(request.Topics, t)
	}
	return request
}

// forgetting makes a request forget a partition.
func forgetting(request *kmsg.FetchRequest, topic string, id [16]byte, number int32) *kmsg.FetchRequest {
	gone := kmsg.NewFetchRequestForgottenTopic()
	gone.Topic, gone.TopicID, gone.Partitions = topic, id, []int32{number}
	request.ForgottenTopics = append(request.ForgottenTopics, gone)
	return request
}

// inSession puts a request into a session.
func inSession(request *kmsg.FetchRequest, id, epoch int32) *kmsg.FetchRequest {
	request.SessionID, request.SessionEpoch = id, epoch
	return request
}

// fetched writes what a Fetch answer says as "partition:code@high+bytes".
func fetched(r *kmsg.FetchResponse) string {
	var all []string
	if r.ErrorCode != codeNone {
		all = append(all, fmt.Sprint("error ", r.ErrorCode))
	}
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			size := fmt.Sprint(len(p.RecordBatches))
			if p.RecordBatches == nil {
				size = "null" // what librdkafka does not take
			}
			all = append(all, fmt.Sprintf("%d:%d@%d+%s", p.Partition, p.ErrorCode, p.HighWatermark, size))
		}
	}
	return strings.Join(all, " ")
}

func (a *dataAPI) fetched(version int16, request *kmsg.FetchRequest) string {
	a.t.Helper()
	return fetched(answered[*kmsg.FetchResponse](a, version, request))
}

func TestFetchInEveryVersion(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	set := records(t, "a", "b")
	a.mustProduce("t", 0, "a", "b")
	for version := int16(oldestFetch); version <= newestFetch; version++ {
		answer := answered[*kmsg.FetchResponse](a, version, fetchFrom("t", id, 0, 0))
		if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
			t.Fatalf("v%d: %+v", version, answer)
		}
		p := answer.Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.HighWatermark != 2 || p.LastStableOffset != 2 || p.AbortedTransactions != nil || len(p.RecordBatches) != len(set) {
			t.Errorf("v%d: %+v", version, p)
		}
		if got, want := a.fetched(version, fetchFrom("t", id, 0, 2, 7, 0)), "0:0@2+0 7:3@-1+0"; got != want {
			t.Errorf("v%d: no records and no partition: %s, want %s", version, got, want)
		}
		if version >= 13 && answer.Topics[0].TopicID != id || version < 13 && answer.Topics[0].Topic != "t" {
			t.Errorf("v%d: topic %q, id %x", version, answer.Topics[0].Topic, answer.Topics[0].TopicID)
		}
		if batch := record.Batch(p.RecordBatches); !batch.ChecksumOK() || batch.LeaderEpoch() != 0 {
			t.Errorf("v%d: the batch is damaged", version)
		}
	}
}

func TestFetchRefusals(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 2)
	a.mustProduce("t", 0, "x")
	a.removePartition("t", 1)
	size := len(records(t, "x"))
	change := func(f func(*kmsg.FetchRequest)) *kmsg.FetchRequest {
		request := fetchFrom("t", id, 0, 0)
		f(request)
		return request
	}
	cases := []struct {
		name    string
		version int16
		request *kmsg.FetchRequest
		want    string
	}{
		{"unknown topic", 12, fetchFrom("none", id, 0, 0), "0:3@-1+0"},
		{"unknown partitions go last", 12, fetchFrom("t", id, 7, 0, 0, 0, -1, 0), fmt.Sprintf("0:0@1+%d 7:3@-1+0 -1:3@-1+0", size)},
		{"unknown id", 13, fetchFrom("", [16]byte{1}, 0, 0), "0:100@-1+0"},
		{"not served", 12, fetchFrom("t", id, 1, 0), "1:6@-1+0"},
		{"out of range", 12, fetchFrom("t", id, 0, 2), "0:1@-1+0"},
		{"negative limits", 12, change(func(r *kmsg.FetchRequest) { r.MaxBytes, r.Topics[0].Partitions[0].PartitionMaxBytes = -1, -1 }), "0:-1@-1+0"},
		{"isolation", 12, change(func(r *kmsg.FetchRequest) { r.IsolationLevel = 9 }), "error -1 0:-1@-1+0"},
		{"isolation without partitions in the answer", 13, change(func(r *kmsg.FetchRequest) { r.IsolationLevel = 9 }), "error -1"},
		{"replica", 12, change(func(r *kmsg.FetchRequest) { r.ReplicaID = 1 }), "0:6@-1+0"},
		{"replica state", 15, change(func(r *kmsg.FetchRequest) { r.ReplicaState.ID = 1 }), "0:6@-1+0"},
		{"debugging consumer", 12, change(func(r *kmsg.FetchRequest) { r.ReplicaID = -2 }), fmt.Sprintf("0:0@1+%d", size)},
		{"leader epoch", 12, change(func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = 5 }), "0:75@-1+0"},
		{"last fetched epoch", 12, change(func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].LastFetchedEpoch = 4 }), "0:1@-1+0"},
		{"nothing", 12, fetchFrom("t", id), ""},
		{"session that never was", 12, inSession(fetchFrom("t", id), 999, 1), "error 70"},
		{"no session", 7, inSession(fetchFrom("t", id), 0, 3), "error 70"},
	}
	for _, c := range cases {
		if got := a.fetched(c.version, c.request); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFetchListsOfAbortedTransactions(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	first := func(request *kmsg.FetchRequest) kmsg.FetchResponseTopicPartition {
		return answered[*kmsg.FetchResponse](a, 12, request).Topics[0].Partitions[0]
	}
	committed := func(offset int) *kmsg.FetchRequest {
		request := fetchFrom("t", id, 0, offset)
		request.IsolationLevel = 1
		return request
	}
	if p := first(fetchFrom("t", id, 0, 0)); p.AbortedTransactions != nil {
		t.Error("read uncommitted has a list")
	}
	if p := first(committed(0)); p.AbortedTransactions == nil {
		t.Error("read committed has no list")
	}
	if p := first(committed(9)); p.ErrorCode != codeOffsetOutOfRange || p.AbortedTransactions != nil {
		t.Errorf("an error of the read: %+v", p)
	}
	if p := first(fetchFrom("none", id, 0, 0)); p.AbortedTransactions == nil {
		t.Error("an unknown topic has no list")
	}
}

func TestFetchNamesTheLeader(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	a.removePartition("t", 0)
	for version, named := range map[int16]bool{12: false, 15: false, 16: true, 18: true} {
		answer := answered[*kmsg.FetchResponse](a, version, fetchFrom("t", id, 0, 0))
		p := answer.Topics[0].Partitions[0]
		if p.ErrorCode != codeNotLeaderOrFollower || (p.CurrentLeader.LeaderID == 1) != named || (len(answer.Brokers) == 1) != named {
			t.Errorf("v%d: %+v", version, answer)
		}
	}
}

func TestFetchTheSamePartitionTwice(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	a.mustProduce("t", 0, "x")
	a.mustProduce("t", 0, "y")
	size := len(records(t, "y"))
	if got, want := a.fetched(12, fetchFrom("t", id, 0, 0, 0, 1)), fmt.Sprintf("0:0@2+%d", size); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFetchSessionByName(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 3)
	size := len(records(t, "x"))
	full := answered[*kmsg.FetchResponse](a, 12, inSession(fetchFrom("t", id, 0, 0, 1, 0, 2, 0), 0, 0))
	s := full.SessionID
	if s <= 0 || fetched(full) != "0:0@0+0 1:0@0+0 2:0@0+0" {
		t.Fatalf("session %d: %s", s, fetched(full))
	}
	forget := inSession(forgetting(fetchFrom("t", id), "t", [16]byte{}, 0), s, 5)
	steps := []struct {
		name    string
		before  func()
		request *kmsg.FetchRequest
		want    string
	}{
		{"nothing new", nil, inSession(fetchFrom("t", id), s, 1), ""},
		{"records", func() { a.mustProduce("t", 1, "x") }, inSession(fetchFrom("t", id), s, 2), fmt.Sprintf("1:0@1+%d", size)},
		{"the same records", nil, inSession(fetchFrom("t", id), s, 3), fmt.Sprintf("1:0@1+%d", size)},
		{"gone on", nil, inSession(fetchFrom("t", id, 1, 1), s, 4), ""},
		{"forgotten", func() { a.mustProduce("t", 0, "x") }, forget, ""},
		{"an error", nil, inSession(fetchFrom("t", id, 2, 9), s, 6), "2:1@-1+0"},
		{"the error again", nil, inSession(fetchFrom("t", id), s, 7), "2:1@-1+0"},
		{"wrong epoch", nil, inSession(fetchFrom("t", id), s, 99), "error 71"},
		{"error gone", nil, inSession(fetchFrom("t", id, 2, 0), s, 8), "2:0@0+0"},
		{"ended", nil, inSession(fetchFrom("t", id, 1, 0), s, -1), fmt.Sprintf("1:0@1+%d", size)},
		{"after the end", nil, inSession(fetchFrom("t", id), s, 9), "error 70"},
	}
	for _, c := range steps {
		if c.before != nil {
			c.before()
		}
		answer := answered[*kmsg.FetchResponse](a, 12, c.request)
		if got := fetched(answer); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if answer.ErrorCode == 0 && c.request.SessionEpoch > 0 && answer.SessionID != s {
			t.Errorf("%s: session %d, want %d", c.name, answer.SessionID, s)
		}
	}
}

func TestFetchSessionByID(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	s := answered[*kmsg.FetchResponse](a, 17, inSession(fetchFrom("", id, 0, 0), 0, 0)).SessionID
	if got := a.fetched(12, inSession(fetchFrom("t", id), s, 1)); got != "error 106" {
		t.Errorf("by name in a session by id: %s", got)
	}
	for epoch := int32(1); epoch < 3; epoch++ {
		request := fetchFrom("", [16]byte{1}, 0, 0)
		if epoch > 1 {
			request = fetchFrom("", id)
		}
		if got := a.fetched(17, inSession(request, s, epoch)); got != "0:100@-1+0" {
			t.Errorf("unknown id in epoch %d: %s", epoch, got)
		}
	}
	// A session that forgets everything ends.
	forget := inSession(fetchFrom("", id), s, 3)
	for _, topic := range [][16]byte{id, {1}} {
		forgetting(forget, "", topic, 0)
	}
	if answer := answered[*kmsg.FetchResponse](a, 17, forget); answer.SessionID != 0 || fetched(answer) != "" {
		t.Errorf("forgetting everything: %+v", answer)
	}
	if got := a.fetched(17, inSession(fetchFrom("", id), s, 4)); got != "error 70" {
		t.Errorf("after forgetting everything: %s", got)
	}
}

func TestFetchSessionTurnsPartitions(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 2)
	a.mustProduce("t", 0, "x")
	a.mustProduce("t", 1, "y")
	full := inSession(fetchFrom("t", id, 0, 0, 1, 0), 0, 0)
	s := answered[*kmsg.FetchResponse](a, 12, full).SessionID
	var order []string
	for epoch := int32(1); epoch <= 4; epoch++ {
		request := inSession(fetchFrom("t", id), s, epoch)
		request.MaxBytes = 1
		order = append(order, strings.Split(a.fetched(12, request), ":")[0])
	}
	if got := strings.Join(order, " "); got != "0 1 0 1" {
		t.Errorf("with room for one, the partitions come as %s", got)
	}
}

func TestFetchWaitsForRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newDataAPI(t)
		id := a.topic("t", 1)
		began := time.Now()
		done := make(chan string)
		go func() {
			request := fetchFrom("none", id, 0, 0)
			request.Topics = append(request.Topics, fetchFrom("t", id, 0, 0).Topics...)
			request.MaxWaitMillis = 60_000
			done <- a.fetched(12, request)
		}()
		time.Sleep(time.Second)
		a.mustProduce("t", 0, "x")
		got, want := <-done, fmt.Sprintf("0:0@1+%d 0:3@-1+0", len(records(t, "x")))
		if took := time.Since(began); took != time.Second || got != want {
			t.Errorf("after %v: %s, want %s", took, got, want)
		}
	})
}

// TestFetchReleasesEveryRange closes the log behind finished fetches: a file
// that is still open then is one that an answer did not give back.
func TestFetchReleasesEveryRange(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	a.mustProduce("t", 0, "x")
	s := answered[*kmsg.FetchResponse](a, 12, inSession(fetchFrom("t", id, 0, 0), 0, 0)).SessionID
	for epoch := int32(1); epoch < 5; epoch++ {
		a.fetched(12, inSession(fetchFrom("t", id), s, epoch))
	}
	if err := a.logOf("t", 0).Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("this system does not list open files: %v", err)
	}
	for _, f := range files {
		if name, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(name, a.dir) && filepath.Base(name) != ".lock" {
			t.Errorf("%s is still open", name)
		}
	}
}

func (a *dataAPI) logOf(topic string, number int32) *logstore.Log {
	a.t.Helper()
	p, err := a.partitions.Get(logstore.TopicPartition{Topic: topic, Partition: number})
	if err != nil {
		a.t.Fatal(err)
	}
	return p.Log()
}

// BenchmarkFetch measures from the decoded request to the pieces of the answer.
func BenchmarkFetch(b *testing.B) {
	a := newDataAPI(b)
	id := a.topic("t", 10)
	for i := range 100 {
		a.mustProduce("t", i%10, strings.Repeat("v", 10_000))
	}
	bench := func(name string, body *kmsg.FetchRequest) {
		body.Version = 17
		request := &protocol.Request{Key: 1, Version: 17, Body: body, Listener: "PLAINTEXT"}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				response, err := a.Handle(b.Context(), request)
				if err != nil {
					b.Fatal(err)
				}
				response.Release()
			}
		})
	}
	bench("one partition", fetchFrom("", id, 0, 0))
	bench("ten partitions", fetchFrom("", id, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0))
	nothing := fetchFrom("", id, 0, 10)
	nothing.MinBytes = 0
	bench("nothing", nothing)
}
