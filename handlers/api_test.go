package handlers

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// adminAPI is an API over a metadata log of its own, without partitions.
type adminAPI struct {
	txnLog *memoryState
	*API
	t testing.TB
}

func newAdminAPI(t testing.TB, settings ...string) *adminAPI {
	t.Helper()
	dir := t.TempDir()
	props := []config.Property{{Key: "log.dirs", Value: dir}}
	for i := 0; i+1 < len(settings); i += 2 {
		props = append(props, config.Property{Key: settings[i], Value: settings[i+1]})
	}
	static, _, err := config.Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	store, err := metadata.Open(metadata.Options{
		FS: vfs.OS(), Dir: filepath.Join(dir, "__cluster_metadata-0"), NodeID: static.NodeID(),
		ClusterID: "5L6g3nShT-eMCtK--X86sw", DirectoryIDs: []logstore.UUID{{1, 2, 3}}, MinISR: "1", CleanBrokerEpoch: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	versions, err := protocol.NewVersions(Keys()...)
	if err != nil {
		t.Fatal(err)
	}
	layers := func() config.Layers {
		image := store.Image()
		return config.Layers{
			Static:         static,
			ClusterDefault: image.Config(metadata.ResourceBroker, ""),
			Node:           image.Config(metadata.ResourceBroker, "1"),
		}
	}
	a := &adminAPI{t: t, txnLog: &memoryState{}}
	markers := apiMarkers{&a.API}
	coordinator := testCoordinator(store, a.txnLog, markers)
	t.Cleanup(coordinator.Close)
	a.API = New(Options{
		Metadata: store, Config: static, Layers: layers, Versions: versions, Transactions: coordinator, Markers: markers,
		AdvertisedFor: func(listener string) (Endpoint, bool) {
			return Endpoint{Host: "broker.example", Port: 9092}, listener == "PLAINTEXT"
		},
	})
	return a
}

// ask sends a request in a version and returns the answer as a client decodes
// it.
func ask[R kmsg.Response](a *adminAPI, version int16, request kmsg.Request) R {
	a.t.Helper()
	request.SetVersion(version)
	sent := request.AppendTo(nil)
	received := kmsg.RequestForKey(request.Key())
	received.SetVersion(version)
	if err := received.ReadFrom(sent); err != nil {
		a.t.Fatalf("%T does not decode: %v", request, err)
	}
	response, err := a.Handle(context.Background(), &protocol.Request{
		Key: request.Key(), Version: version, Body: received, Listener: "PLAINTEXT",
	})
	if err != nil {
		a.t.Fatalf("%T v%d: %v", request, version, err)
	}
	if response.Body == nil {
		a.t.Fatalf("%T v%d: no answer", request, version)
	}
	answer, ok := kmsg.ResponseForKey(request.Key()).(R)
	if !ok {
		a.t.Fatalf("%T is not answered by %T", request, answer)
	}
	answer.SetVersion(version)
	if err := answer.ReadFrom(response.Body.AppendTo(nil)); err != nil {
		a.t.Fatalf("%T v%d does not decode: %v", answer, version, err)
	}
	return answer
}

// create creates a topic that must be possible and returns its id.
func (a *adminAPI) create(name string, partitions int32, configs ...string) [16]byte {
	a.t.Helper()
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = 5000
	request.Topics = []kmsg.CreateTopicsRequestTopic{wishedTopic(name, partitions, 1, configs...)}
	answer := ask[*kmsg.CreateTopicsResponse](a, 7, request)
	if answer.Topics[0].ErrorCode != 0 {
		a.t.Fatalf("create %s: %s", name, said(answer.Topics[0].ErrorCode, answer.Topics[0].ErrorMessage))
	}
	return answer.Topics[0].TopicID
}

func wishedTopic(name string, partitions int32, factor int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	return t
}
