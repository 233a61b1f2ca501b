package handlers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/protocol"
	"minibroker/record"
)

// dataAPI is an API over a metadata log and the logs of the topics that a test
// makes.
type dataAPI struct {
	*adminAPI
	dir    string
	fs     vfs.FS
	stores map[logstore.UUID]*logstore.Store // of the logs of each topic id
}

func newDataAPI(t testing.TB, settings ...string) *dataAPI {
	t.Helper()
	a := &dataAPI{adminAPI: newAdminAPI(t, settings...), dir: t.TempDir(), fs: vfs.OS(), stores: map[logstore.UUID]*logstore.Store{}}
	a.partitions = partition.New(partition.Options{})
	return a
}

// topic makes a topic with logs, in the order of its partitions, and returns
// its id.
func (a *dataAPI) topic(name string, partitions int32, change ...func(*logstore.Config)) [16]byte {
	a.t.Helper()
	id := a.create(name, partitions)
	for i := range partitions {
		config := logstore.DefaultConfig()
		config.IndexBytes = 4096
		for _, f := range change {
			f(&config)
		}
		a.lead(name, i, a.imageOf(name).ID, config)
	}
	return id
}

// lead serves a partition of the metadata with a log of the topic id.
func (a *dataAPI) lead(name string, number int32, id logstore.UUID, config logstore.Config) {
	a.t.Helper()
	log, err := a.store(id).Create(logstore.TopicPartition{Topic: name, Partition: number}, id, nil, config)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.partitions.Add(log, a.imageOf(name).Partitions[number].LeaderEpoch); err != nil {
		a.t.Fatal(err)
	}
}

// store is that of a topic id, in a directory of its own.
func (a *dataAPI) store(id logstore.UUID) *logstore.Store {
	a.t.Helper()
	if s := a.stores[id]; s != nil {
		return s
	}
	dir := filepath.Join(a.dir, fmt.Sprintf("%x", id))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		a.t.Fatal(err)
	}
	s, err := logstore.Open(logstore.Options{FS: a.fs, Dirs: []string{dir}, NodeID: 1, Default: logstore.DefaultConfig()})
	if err == nil {
		err = s.Load(context.Background())
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		if err := s.Close(logstore.CleanStop{BrokerEpoch: -1}); err != nil {
			a.t.Error(err)
		}
	})
	a.stores[id] = s
	return s
}

// serve decodes a request as the server does, has it answered and decodes the
// answer; nil when there is none.
func (a *dataAPI) serve(version int16, request kmsg.Request, clientID string) (kmsg.Response, error) {
	a.t.Helper()
	request.SetVersion(version)
	received := kmsg.RequestForKey(request.Key())
	received.SetVersion(version)
	if err := received.ReadFrom(request.AppendTo(nil)); err != nil {
		a.t.Fatalf("%T does not decode: %v", request, err)
	}
	response, err := a.Handle(context.Background(), &protocol.Request{
		Key: request.Key(), Version: version, Body: received, Listener: "PLAINTEXT", ClientID: &clientID,
	})
	if err != nil || response.None {
		return nil, err
	}
	defer response.Release()
	var encoded []byte
	if response.Body != nil {
		encoded = response.Body.AppendTo(nil)
	} else {
		encoded = wholeBody(a.t, response.Parts)
	}
	answer := kmsg.ResponseForKey(request.Key())
	answer.SetVersion(version)
	if err := answer.ReadFrom(encoded); err != nil {
		a.t.Fatalf("%T v%d does not decode: %v", answer, version, err)
	}
	return answer, nil
}

// answered is serve for a request that has an answer.
func answered[R kmsg.Response](a *dataAPI, version int16, request kmsg.Request) R {
	a.t.Helper()
	response, err := a.serve(version, request, "test")
	if err != nil || response == nil {
		a.t.Fatalf("%T v%d: answer %v, error %v", request, version, response, err)
	}
	return response.(R)
}

// records builds a batch of plain records as a producer sends it.
func records(t testing.TB, values ...string) []byte {
	t.Helper()
	return batchOf(t, record.BuilderOptions{}, values...)
}

func batchOf(t testing.TB, o record.BuilderOptions, values ...string) []byte {
	t.Helper()
	o.LeaderEpoch = -1
	b := record.NewBuilder(o)
	for i, v := range values {
		if err := b.Append(record.Record{Timestamp: 1000 + int64(i), Value: []byte(v)}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// produceTo asks to append record sets to a topic: partition, set, partition,
// set, ...
func produceTo(topic string, id [16]byte, acks int16, sets ...any) *kmsg.ProduceRequest {
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis = acks, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, id
	for i := 0; i < len(sets); i += 2 {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition = int32(sets[i].(int))
		p.Records, _ = sets[i+1].([]byte)
		t.Partitions = append(t.Partitions, p)
	}
	request.Topics = append(request.Topics, t)
	return request
}

// mustProduce appends records to a partition.
func (a *dataAPI) mustProduce(topic string, number int, values ...string) {
	a.t.Helper()
	answer := answered[*kmsg.ProduceResponse](a, 9, produceTo(topic, [16]byte{}, 1, number, records(a.t, values...)))
	if code := answer.Topics[0].Partitions[0].ErrorCode; code != codeNone {
		a.t.Fatalf("produce to %s-%d: code %d", topic, number, code)
	}
}

// removePartition takes a partition away from the broker but not from the
// metadata, as while it is being made.
func (a *dataAPI) removePartition(topic string, number int32) {
	a.partitions.Remove(logstore.TopicPartition{Topic: topic, Partition: number})
}

// imageOf is the topic in the metadata.
func (a *dataAPI) imageOf(name string) *metadata.Topic {
	a.t.Helper()
	topic, ok := a.meta.Image().Topic(name)
	if !ok {
		a.t.Fatalf("no topic %s", name)
	}
	return topic
}
