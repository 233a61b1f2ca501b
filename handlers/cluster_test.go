package handlers

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

func (a *adminAPI) updateFeature(version int16, name string, level int16, kind int8) string {
	a.t.Helper()
	request := kmsg.NewPtrUpdateFeaturesRequest()
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = name, level, kind
	request.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{u}
	answer := ask[*kmsg.UpdateFeaturesResponse](a, version, request)
	if version < 2 && answer.ErrorCode == 0 && len(answer.Results) != 1 {
		a.t.Errorf("v%d: %d results", version, len(answer.Results))
	}
	return said(answer.ErrorCode, answer.ErrorMessage)
}

func TestUpdateFeatures(t *testing.T) {
	a := newAdminAPI(t)
	const failed = "95 The update failed for all features since the following feature had an error: "
	for _, c := range []struct {
		name  string
		level int16
		kind  int8
		want  string
	}{
		{"transaction.version", 1, upgradeOnly, failed + "Invalid update version 1 for feature transaction.version. " +
			"Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."},
		{"transaction.version", 9, safeDowngrade, failed + "Invalid update version 9 for feature transaction.version. Local controller 1 only supports versions 0-2"},
		{"transaction.version", -1, safeDowngrade, failed + "Invalid update version -1 for feature transaction.version. A feature version cannot be less than 0."},
		{"no.such", 0, safeDowngrade, failed + "Invalid update version 0 for feature no.such. Feature no.such not found."},
		{"metadata.version", 30, safeDowngrade, failed + "Unsupported metadata.version downgrade from 33 to 30. " +
			"Refusing to perform the requested downgrade because it might delete metadata information."},
		{"transaction.version", 1, safeDowngrade, "0 null"},
		{"transaction.version", 2, safeDowngrade, failed + "Invalid update version 2 for feature transaction.version. Can't downgrade to a newer version."},
		{"transaction.version", 2, upgradeOnly, "0 null"},
	} {
		if got := a.updateFeature(2, c.name, c.level, c.kind); got != c.want {
			t.Errorf("%s to %d: %q, want %q", c.name, c.level, got, c.want)
		}
	}
	if got := a.updateFeature(1, "group.version", 0, safeDowngrade); got != "0 null" || a.meta.Image().Features["group.version"] != 0 {
		t.Errorf("group.version is %d after %q", a.meta.Image().Features["group.version"], got)
	}
	if got := checkMetadataDowngrade(29, 28, safeDowngrade); got != nil {
		t.Errorf("from 29 to 28, where nothing changed: %v", got)
	}
}

func TestThisNodeStays(t *testing.T) {
	a := newAdminAPI(t)
	broker := kmsg.NewPtrUnregisterBrokerRequest()
	broker.BrokerID = 1
	if answer := ask[*kmsg.UnregisterBrokerResponse](a, 0, broker); answer.ErrorCode != codeInvalidRequest || len(a.meta.Image().Brokers()) != 1 {
		t.Errorf("unregister this broker: %s", said(answer.ErrorCode, answer.ErrorMessage))
	}
	controller := kmsg.NewPtrUnregisterControllerRequest()
	controller.ControllerID = 1
	answer := ask[*kmsg.UnregisterControllerResponse](a, 0, controller)
	if got := said(answer.ErrorCode, answer.ErrorMessage); got != "42 Controller cannot unregister itself while it is active." {
		t.Errorf("unregister this controller: %q", got)
	}
}

func TestReassignmentsOfOneNode(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1)
	for _, c := range []struct {
		replicas []int32
		want     string
	}{
		{[]int32{1}, "0 null"},
		{[]int32{}, "39 The manual partition assignment includes an empty replica list."},
		{[]int32{1, 1}, "39 The manual partition assignment includes the broker 1 more than once."},
		{[]int32{1, 2}, "39 The manual partition assignment includes broker 2, but no such broker is registered."},
		{nil, "85 null"},
	} {
		request := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		request.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t",
			Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: c.replicas}}}}
		p := ask[*kmsg.AlterPartitionAssignmentsResponse](a, 1, request).Topics[0].Partitions[0]
		if got := said(p.ErrorCode, p.ErrorMessage); got != c.want {
			t.Errorf("to %v: %q, want %q", c.replicas, got, c.want)
		}
	}
	all := ask[*kmsg.ListPartitionReassignmentsResponse](a, 0, kmsg.NewPtrListPartitionReassignmentsRequest())
	if len(all.Topics) != 0 {
		t.Errorf("under way: %+v", all.Topics)
	}
}

func TestUnknownACLKindsCloseTheConnection(t *testing.T) {
	a := newAdminAPI(t)
	describe := kmsg.NewPtrDescribeACLsRequest()
	describe.Version = 3
	if _, err := a.Handle(context.Background(), &protocol.Request{Key: describe.Key(), Version: 3, Body: describe}); err == nil {
		t.Error("a filter of unknown kinds was answered")
	}
	create := kmsg.NewPtrCreateACLsRequest()
	create.Creations = []kmsg.CreateACLsRequestCreation{{}}
	if _, err := a.Handle(context.Background(), &protocol.Request{Key: create.Key(), Version: 3, Body: create}); err == nil {
		t.Error("an entry of unknown kinds was answered")
	}
}

func TestTelemetryFollowsTheSubscriptions(t *testing.T) {
	a := newAdminAPI(t)
	first := ask[*kmsg.GetTelemetrySubscriptionsResponse](a, 0, kmsg.NewPtrGetTelemetrySubscriptionsRequest())
	if first.ErrorCode != 0 || first.PushIntervalMillis != 300000 || first.ClientInstanceID == [16]byte{} {
		t.Fatalf("first answer %+v", first)
	}
	again := kmsg.NewPtrGetTelemetrySubscriptionsRequest()
	again.ClientInstanceID = first.ClientInstanceID
	if got := ask[*kmsg.GetTelemetrySubscriptionsResponse](a, 0, again); got.ErrorCode != codeThrottlingQuotaExceeded {
		t.Errorf("asking twice: code %d", got.ErrorCode)
	}
	ask[*kmsg.IncrementalAlterConfigsResponse](a, 1, alterRequest(kmsg.ConfigResourceTypeClientMetrics, "s",
		op{"metrics", 0, "org.apache.kafka."}, op{"interval.ms", 0, "1000"}))
	got := ask[*kmsg.GetTelemetrySubscriptionsResponse](a, 0, again)
	if got.ErrorCode != 0 || got.PushIntervalMillis != 1000 || len(got.RequestedMetrics) != 1 || got.SubscriptionID == first.SubscriptionID {
		t.Errorf("after a new subscription: %+v", got)
	}
	push := kmsg.NewPtrPushTelemetryRequest()
	push.ClientInstanceID, push.SubscriptionID, push.Metrics = first.ClientInstanceID, got.SubscriptionID, []byte("m")
	if answer := ask[*kmsg.PushTelemetryResponse](a, 0, push); answer.ErrorCode != 0 {
		t.Errorf("push: code %d", answer.ErrorCode)
	}
	push.ClientInstanceID = [16]byte{15: 1}
	if answer := ask[*kmsg.PushTelemetryResponse](a, 0, push); answer.ErrorCode != codeInvalidRequest {
		t.Errorf("push of a reserved id: code %d", answer.ErrorCode)
	}
	push.ClientInstanceID, push.SubscriptionID = first.ClientInstanceID, 7
	ask[*kmsg.PushTelemetryResponse](a, 0, push)
	if s := a.Telemetry(); s.Clients != 1 || s.Accepted != 1 || s.Bytes != 1 || s.Refused != 1 {
		t.Errorf("counted: %+v", s)
	}
}

// TestClusterByAHiddenListener: over a listener that is not advertised there is no broker, and so no controller.
func TestClusterByAHiddenListener(t *testing.T) {
	a := newAdminAPI(t)
	for listener, want := range map[string]int32{"PLAINTEXT": 1, "HIDDEN": -1} {
		request := kmsg.NewPtrDescribeClusterRequest()
		request.Version, request.EndpointType = 2, brokerEndpoints
		response, err := a.Handle(context.Background(), &protocol.Request{Key: request.Key(), Version: 2, Body: request, Listener: listener})
		if err != nil {
			t.Fatal(err)
		}
		if answer := response.Body.(*kmsg.DescribeClusterResponse); answer.ControllerID != want || (len(answer.Brokers) == 1) != (want == 1) {
			t.Errorf("by %s: controller %d, brokers %v", listener, answer.ControllerID, answer.Brokers)
		}
	}
}

// TestMarkerWithoutAnEpoch: no batch can be made of it, neither here nor in Kafka.
func TestMarkerWithoutAnEpoch(t *testing.T) {
	a := newAdminAPI(t)
	a.create("orders", 1)
	request := kmsg.NewPtrWriteTxnMarkersRequest()
	marker := kmsg.NewWriteTxnMarkersRequestMarker()
	marker.ProducerID, marker.ProducerEpoch = 1, -1
	topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	topic.Topic, topic.Partitions = "orders", []int32{0}
	marker.Topics = append(marker.Topics, topic)
	request.Markers = append(request.Markers, marker)
	answer := ask[*kmsg.WriteTxnMarkersResponse](a, 1, request)
	if got := answer.Markers[0].Topics[0].Partitions[0].ErrorCode; got != codeUnknownServerError {
		t.Errorf("error %d", got)
	}
}
