package handlers

import (
	"context"
	"log/slog"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// op is one operation of IncrementalAlterConfigs; value "-" stands for null.
type op struct {
	name  string
	kind  kmsg.IncrementalAlterConfigOp
	value string
}

func alterRequest(kind kmsg.ConfigResourceType, name string, ops ...op) *kmsg.IncrementalAlterConfigsRequest {
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, o := range ops {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op = o.name, o.kind
		if o.value != "-" {
			c.Value = &o.value
		}
		r.Configs = append(r.Configs, c)
	}
	request.Resources = append(request.Resources, r)
	return request
}

const (
	topicKind  = kmsg.ConfigResourceTypeTopic
	brokerKind = kmsg.ConfigResourceTypeBroker
	loggerKind = kmsg.ConfigResourceTypeBrokerLogger
)

func TestIncrementalAlterConfigsRefusals(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1)
	for _, c := range []struct {
		kind kmsg.ConfigResourceType
		name string
		ops  []op
		want string
	}{
		{topicKind, "t", []op{{"no.such", 0, "x"}}, "40 Unknown topic config name: no.such"},
		{topicKind, "t", []op{{"no.such", 1, "-"}}, "0 null"},
		{topicKind, "t", []op{{"retention.ms", 0, "-"}}, "42 Null value not supported for : retention.ms"},
		{topicKind, "t", []op{{"retention.ms", 2, "1"}}, "40 Can't APPEND to key retention.ms because its type is not LIST."},
		{topicKind, "t", []op{{"retention.ms", 3, "1"}}, "40 Can't SUBTRACT to key retention.ms because its type is not LIST."},
		{topicKind, "t", []op{{"retention.ms", 9, "1"}}, "-1 null"},
		{topicKind, "t", []op{{"retention.ms", 0, "1"}, {"retention.ms", 0, "2"}}, "42 Error due to duplicate config keys"},
		{topicKind, "absent", []op{{"retention.ms", 0, "1"}}, "3 The topic 'absent' does not exist."},
		{topicKind, "absent", []op{{"no.such", 0, "1"}}, "40 Unknown topic config name: no.such"},
		{topicKind, "", []op{{"retention.ms", 0, "1"}}, "42 Default topic resources are not allowed."},
		{0, "t", []op{{"retention.ms", 0, "1"}}, "42 Unknown resource type 0"},
		{brokerKind, "1", []op{{"node.id", 0, "7"}}, "42 Cannot update these configs dynamically: [node.id]"},
		{brokerKind, "99", []op{{"log.cleaner.threads", 0, "1"}}, "42 Unexpected broker id, expected 1, but received 99"},
		{brokerKind, "abc", []op{{"log.cleaner.threads", 0, "1"}}, "42 Node id must be an integer, but it is: abc"},
		{brokerKind, "1", []op{{"log.retention.ms", 2, "1"}}, "40 Config value append is not allowed for config key: log.retention.ms"},
		{brokerKind, "1", []op{{"log.retention.ms", 9, "1"}}, "42 Unknown operations type 9"},
		{brokerKind, "1", []op{{"no.such", 2, "1"}}, "40 Unknown config name: no.such"},
		{brokerKind, "1", []op{{"min.insync.replicas", 0, "1"}}, "40 Broker-level min.insync.replicas cannot be altered while ELR is enabled."},
		{brokerKind, "", []op{{"min.insync.replicas", 1, "-"}}, "40 Cluster-level min.insync.replicas cannot be removed while ELR is enabled."},
		{kmsg.ConfigResourceTypeClientMetrics, "", []op{{"interval.ms", 0, "1000"}}, "42 Subscription name can't be empty"},
		{kmsg.ConfigResourceTypeClientMetrics, "m", []op{{"metrics", 2, "x"}}, "40 Can't APPEND to key metrics because its type is not LIST."},
		{kmsg.ConfigResourceTypeGroupConfig, "", []op{{"consumer.session.timeout.ms", 0, "50000"}}, "42 Default group resources are not allowed."},
		{loggerKind, "1", []op{{"root", 0, "INFO"}}, "40 Logger root does not exist!"},
	} {
		answer := ask[*kmsg.IncrementalAlterConfigsResponse](a, 1, alterRequest(c.kind, c.name, c.ops...)).Resources[0]
		if got := said(answer.ErrorCode, answer.ErrorMessage); got != c.want {
			t.Errorf("%v %q %v: %q, want %q", c.kind, c.name, c.ops, got, c.want)
		}
	}
	if got := a.meta.Image().Config(metadata.ResourceTopic, "t"); len(got) != 0 {
		t.Errorf("configs after refusals: %v", got)
	}
}

func TestIncrementalAlterConfigsOfTopic(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1)
	for _, c := range []struct {
		ops  []op
		want map[string]string
	}{
		{[]op{{"retention.ms", 0, "1000"}, {"cleanup.policy", 2, "compact"}}, map[string]string{"retention.ms": "1000", "cleanup.policy": "delete,compact"}},
		{[]op{{"retention.ms", 1, "-"}, {"cleanup.policy", 3, "delete"}}, map[string]string{"cleanup.policy": "compact"}},
		{[]op{{"cleanup.policy", 2, "compact"}}, map[string]string{"cleanup.policy": "compact"}},
		{[]op{{"cleanup.policy", 3, "compact"}}, map[string]string{"cleanup.policy": ""}},
	} {
		answer := ask[*kmsg.IncrementalAlterConfigsResponse](a, 1, alterRequest(topicKind, "t", c.ops...)).Resources[0]
		if got := a.meta.Image().Config(metadata.ResourceTopic, "t"); answer.ErrorCode != 0 || !maps.Equal(got, c.want) {
			t.Errorf("%v: %s, configs %v, want %v", c.ops, said(answer.ErrorCode, answer.ErrorMessage), got, c.want)
		}
	}
	check := alterRequest(topicKind, "t", op{"retention.ms", 0, "1"})
	check.ValidateOnly = true
	before := a.meta.Image().LastOffset
	if answer := ask[*kmsg.IncrementalAlterConfigsResponse](a, 1, check); answer.Resources[0].ErrorCode != 0 || a.meta.Image().LastOffset != before {
		t.Errorf("validate only: %+v, log grew by %d", answer.Resources, a.meta.Image().LastOffset-before)
	}
}

func TestIncrementalAlterConfigsOneResourceTwice(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1)
	request := alterRequest(topicKind, "t", op{"retention.ms", 0, "1"})
	request.Resources = append(request.Resources, request.Resources[0])
	for _, r := range ask[*kmsg.IncrementalAlterConfigsResponse](a, 1, request).Resources {
		if got := said(r.ErrorCode, r.ErrorMessage); got != "42 Each resource must appear at most once." {
			t.Errorf("%q", got)
		}
	}
}

func TestBrokerConfigsAct(t *testing.T) {
	a := newAdminAPI(t)
	for _, c := range []struct {
		name string
		op   op
		want int
	}{
		{"", op{"log.cleaner.io.buffer.size", 0, "700000"}, 700000},
		{"1", op{"log.cleaner.io.buffer.size", 0, "600000"}, 600000},
		{"1", op{"log.cleaner.io.buffer.size", 1, "-"}, 700000},
		{"", op{"log.cleaner.io.buffer.size", 1, "-"}, 524288},
	} {
		answer := ask[*kmsg.IncrementalAlterConfigsResponse](a, 1, alterRequest(brokerKind, c.name, c.op)).Resources[0]
		if got := a.layers().Int("log.cleaner.io.buffer.size"); answer.ErrorCode != 0 || got != c.want {
			t.Errorf("broker %q %v: %s, in force %d, want %d", c.name, c.op, said(answer.ErrorCode, answer.ErrorMessage), got, c.want)
		}
	}
}

// mapLoggers are loggers that follow root at once.
type mapLoggers map[string]slog.Level

func (m mapLoggers) Levels() map[string]slog.Level          { return m }
func (m mapLoggers) SetLevel(name string, level slog.Level) { m[name] = level }
func (m mapLoggers) UnsetLevel(name string)                 { m[name] = m[rootLogger] }

func TestLoggers(t *testing.T) {
	a := newAdminAPI(t)
	loggers := mapLoggers{rootLogger: slog.LevelInfo, ownLogger: slog.LevelInfo}
	a.loggers = loggers
	for _, c := range []struct {
		op        op
		want      string
		root, own string
	}{
		{op{rootLogger, 0, "LOUD"}, "40 Cannot set the log level of root to LOUD as it is not a supported log level. " +
			"Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN", "INFO", "INFO"},
		{op{rootLogger, 1, "-"}, "42 Removing the log level of the root logger is not allowed", "INFO", "INFO"},
		{op{rootLogger, 2, "INFO"}, "42 APPEND operation is not allowed for the BROKER_LOGGER resource", "INFO", "INFO"},
		{op{rootLogger, 9, "INFO"}, "42 Unknown operation type 9 is not allowed for the BROKER_LOGGER resource", "INFO", "INFO"},
		{op{"other", 0, "INFO"}, "40 Logger other does not exist!", "INFO", "INFO"},
		{op{ownLogger, 0, "TRACE"}, "0 null", "INFO", "TRACE"},
		{op{rootLogger, 0, "WARN"}, "0 null", "WARN", "TRACE"},
		{op{ownLogger, 1, "-"}, "0 null", "WARN", "WARN"},
	} {
		answer := ask[*kmsg.IncrementalAlterConfigsResponse](a, 1, alterRequest(loggerKind, "1", c.op)).Resources[0]
		if got := said(answer.ErrorCode, answer.ErrorMessage); got != c.want {
			t.Errorf("%v: %q, want %q", c.op, got, c.want)
		}
		seen := map[string]string{}
		for _, e := range ask[*kmsg.DescribeConfigsResponse](a, 4, describeRequest(loggerKind, "1")).Resources[0].Configs {
			seen[e.Name] = *e.Value
		}
		if want := map[string]string{rootLogger: c.root, ownLogger: c.own}; !maps.Equal(seen, want) {
			t.Errorf("%v: levels %v, want %v", c.op, seen, want)
		}
	}
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		if level, ok := levelOf(name); !ok || levelName(level) != name {
			t.Errorf("%s becomes %v and %s", name, level, levelName(level))
		}
	}
}

func TestAlterConfigsReplaces(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1, "retention.ms", "5000", "retention.bytes", "77")
	request := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.NewAlterConfigsRequestResource()
	value := "1000"
	r.ResourceType, r.ResourceName = topicKind, "t"
	r.Configs = []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &value}}
	request.Resources = []kmsg.AlterConfigsRequestResource{r}
	answer := ask[*kmsg.AlterConfigsResponse](a, 2, request).Resources[0]
	if got := a.meta.Image().Config(metadata.ResourceTopic, "t"); answer.ErrorCode != 0 || !maps.Equal(got, map[string]string{"retention.ms": "1000"}) {
		t.Errorf("%s, configs %v", said(answer.ErrorCode, answer.ErrorMessage), got)
	}
	request.Resources[0].Configs[0].Value = nil
	answer = ask[*kmsg.AlterConfigsResponse](a, 2, request).Resources[0]
	if got := said(answer.ErrorCode, answer.ErrorMessage); got != "42 Null value not supported for : retention.ms" {
		t.Errorf("null: %q", got)
	}
	request.Resources[0].ResourceType, request.Resources[0].ResourceName, request.Resources[0].Configs = brokerKind, "", nil
	answer = ask[*kmsg.AlterConfigsResponse](a, 2, request).Resources[0]
	if got := said(answer.ErrorCode, answer.ErrorMessage); got != "40 Cluster-level min.insync.replicas cannot be removed while ELR is enabled." {
		t.Errorf("emptying the default of the cluster: %q", got)
	}
}

func TestAlterConfigsOneResourceTwiceIsSilent(t *testing.T) {
	a := newAdminAPI(t)
	body := kmsg.NewPtrAlterConfigsRequest()
	body.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topicKind, ResourceName: "t"}, {ResourceType: topicKind, ResourceName: "t"}}
	response, err := a.Handle(context.Background(), &protocol.Request{Key: body.Key(), Version: 2, Body: body})
	if err != nil || !response.None {
		t.Errorf("response %+v, error %v; want no answer", response, err)
	}
}
