package handlers

import (
	"bytes"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func describeRequest(kind kmsg.ConfigResourceType, name string, configs ...string) *kmsg.DescribeConfigsRequest {
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: configs}}
	request.IncludeSynonyms = true
	return request
}

func TestDescribeConfigsRefusals(t *testing.T) {
	a := newAdminAPI(t)
	for _, c := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want string
	}{
		{topicKind, "absent", "3 "},
		{topicKind, "", "17 Topic name is invalid: the empty string is not allowed"},
		{3, "t", "42 " + usualMessage(codeInvalidRequest)},
		{brokerKind, "99", "42 Unexpected broker id, expected 1 or empty string, but received 99"},
		{brokerKind, "abc", "42 Broker id must be an integer, but it is: abc"},
		{loggerKind, "", "42 Broker id must not be empty"},
		{loggerKind, "99", "42 Unexpected broker id, expected 1 but received 99"},
		{kmsg.ConfigResourceTypeClientMetrics, "", "42 Client metrics subscription name must not be empty"},
		{kmsg.ConfigResourceTypeGroupConfig, "", "42 Group name must not be empty"},
	} {
		answer := ask[*kmsg.DescribeConfigsResponse](a, 4, describeRequest(c.kind, c.name)).Resources[0]
		if got := said(answer.ErrorCode, answer.ErrorMessage); got != c.want || len(answer.Configs) != 0 {
			t.Errorf("%v %q: %q with %d configs, want %q", c.kind, c.name, got, len(answer.Configs), c.want)
		}
	}
}

func TestDescribeConfigs(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1, "retention.ms", "5000")
	for version := int16(1); version <= 4; version++ {
		answer := ask[*kmsg.DescribeConfigsResponse](a, version, describeRequest(topicKind, "t", "retention.ms", "retention.ms", "no.such")).Resources[0]
		if answer.ErrorCode != 0 || answer.ErrorMessage == nil || *answer.ErrorMessage != "" || len(answer.Configs) != 1 {
			t.Fatalf("v%d: %+v", version, answer)
		}
		c := answer.Configs[0]
		if c.Name != "retention.ms" || *c.Value != "5000" || c.Source != kmsg.ConfigSourceDynamicTopicConfig || len(c.ConfigSynonyms) != 1 ||
			version >= 3 && c.ConfigType != kmsg.ConfigTypeLong {
			t.Errorf("v%d: %+v", version, c)
		}
	}
	all := ask[*kmsg.DescribeConfigsResponse](a, 4, describeRequest(topicKind, "t")).Resources[0]
	if len(all.Configs) != 37 {
		t.Errorf("%d topic configs, want 37", len(all.Configs))
	}
	node := ask[*kmsg.DescribeConfigsResponse](a, 4, describeRequest(brokerKind, "1")).Resources[0]
	if len(node.Configs) < 300 {
		t.Errorf("%d broker configs", len(node.Configs))
	}
	cluster := ask[*kmsg.DescribeConfigsResponse](a, 4, describeRequest(brokerKind, "")).Resources[0]
	if len(cluster.Configs) != 1 || cluster.Configs[0].Name != "min.insync.replicas" {
		t.Errorf("default of the cluster: %+v", cluster.Configs)
	}
}

// TestDescribedConfigsEncode: an answer that is made while it is encoded has the bytes that the whole one has.
func TestDescribedConfigsEncode(t *testing.T) {
	a := newAdminAPI(t)
	for name, retention := range map[string]string{"t": "1", "longer-name": "123456789", "u": "7"} {
		a.create(name, 1, "retention.ms", retention)
	}
	for version := int16(1); version <= 4; version++ {
		for _, names := range [][]string{{}, {"t"}, {"absent"}, {"t", "longer-name", "absent", "u", "t"}} {
			request := kmsg.NewPtrDescribeConfigsRequest()
			request.Version, request.IncludeSynonyms, request.IncludeDocumentation = version, true, true
			for _, name := range names {
				request.Resources = append(request.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: topicKind, ResourceName: name})
			}
			made, err := a.describeConfigs(t.Context(), nil, request)
			if err != nil {
				t.Fatal(err)
			}
			d := made.(*describedConfigs)
			d.SetThrottle(1234)
			whole := kmsg.DescribeConfigsResponse{Version: version, ThrottleMillis: 1234}
			for i := range names {
				r := d.resource(i)
				r.Configs = slices.Clone(r.Configs)
				whole.Resources = append(whole.Resources, r)
			}
			if got, want := made.AppendTo([]byte("before")), whole.AppendTo([]byte("before")); !bytes.Equal(got, want) {
				t.Errorf("v%d of %v: %d bytes, want %d", version, names, len(got), len(want))
			}
		}
	}
}

// TestDescribedConfigsAreBounded: what an answer has no room for is refused, and the rest is there.
func TestDescribedConfigsAreBounded(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1)
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.Version = 4
	for range 10 {
		request.Resources = append(request.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: topicKind, ResourceName: "t"})
	}
	made, err := a.describeConfigs(t.Context(), nil, request)
	if err != nil {
		t.Fatal(err)
	}
	whole := len(made.AppendTo(nil))
	made.(*describedConfigs).most = whole / 3
	answer := kmsg.NewPtrDescribeConfigsResponse()
	answer.Version = 4
	if err := answer.ReadFrom(made.AppendTo(nil)); err != nil || len(answer.Resources) != 10 {
		t.Fatal(len(answer.Resources), err)
	}
	for i, r := range answer.Resources {
		if want := i >= 4; (r.ErrorCode == codeInvalidRequest) != want || (len(r.Configs) == 0) != want || r.ResourceName != "t" {
			t.Errorf("resource %d: %d with %d settings", i, r.ErrorCode, len(r.Configs))
		}
	}
}
