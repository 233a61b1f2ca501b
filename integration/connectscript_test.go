package integration

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// numbersOffsets are the offsets of the connector numbers that has counted to the end.
func (x *connectRun) numbersOffsets() map[string]int64 {
	offsets := map[string]int64{}
	for lane := range connectLanes {
		offsets[fmt.Sprintf("map[lane:%d] next", lane)] = x.numbers
	}
	return offsets
}

// linesOffsets are the offsets of the connector lines that has written all that topics hold now.
func (x *connectRun) linesOffsets() map[string]int64 {
	offsets := map[string]int64{}
	for topic, partitions := range connectTopics() {
		for p := range partitions {
			offsets[fmt.Sprintf("%s-%d records", topic, p)] = int64(len(x.places(topic, p)))
		}
	}
	return offsets
}

// script goes through the REST API of Connect, step by step, and tells every answer.
func (x *connectRun) script() {
	x.t.Helper()
	x.scriptLooks()
	x.scriptPause()
	x.scriptSinkOffsets()
	x.scriptSourceOffsets()
	x.scriptRebalances()
	x.scriptFailures()
	x.scriptEnd()
}

func (x *connectRun) scriptLooks() {
	x.awaitStatus("numbers", "RUNNING", "RUNNING", 2)
	x.awaitStatus("lines", "RUNNING", "RUNNING", 2)
	x.awaitOffsets("lines", x.linesOffsets())
	for _, path := range []string{"/", "/health", "/connectors", "/connectors/numbers", "/connectors/numbers/tasks", "/connectors/file-a/offsets",
		"/connectors/numbers/topics", "/connectors/copy/topics", "/connectors/lines/topics", "/connectors/absent", "/connectors/absent/offsets"} {
		x.do(http.MethodGet, path, nil)
	}
}

// scriptPause pauses the sink; what the sources write meanwhile it writes after it was resumed.
func (x *connectRun) scriptPause() {
	x.do(http.MethodPut, "/connectors/lines/pause", nil)
	x.awaitStatus("lines", "PAUSED", "PAUSED", 2)
	before := x.linesOffsets()
	x.grow()
	x.configure("numbers")
	x.awaitOffsets("numbers", x.numbersOffsets())
	x.awaitOffsets("lines", before)
	x.do(http.MethodPut, "/connectors/lines/resume", nil)
	x.awaitStatus("lines", "RUNNING", "RUNNING", 2)
	x.arrived()
	x.awaitOffsets("lines", x.linesOffsets())
}

// scriptSinkOffsets alters and resets the offsets of a sink, which is what its group has committed.
func (x *connectRun) scriptSinkOffsets() {
	at := x.places("numbers", 0)
	offset := func(partition int, to any) map[string]any {
		return map[string]any{"offsets": []any{map[string]any{"partition": map[string]any{"kafka_topic": "numbers", "kafka_partition": partition}, "offset": to}}}
	}
	x.do(http.MethodPatch, "/connectors/lines/offsets", offset(0, map[string]any{"kafka_offset": 0}))
	x.do(http.MethodDelete, "/connectors/lines/offsets", nil)
	x.do(http.MethodPut, "/connectors/lines/stop", nil)
	x.awaitStatus("lines", "STOPPED", "", 0)
	x.do(http.MethodGet, "/connectors/lines/tasks", nil)
	x.do(http.MethodPatch, "/connectors/lines/offsets", offset(99, map[string]any{"kafka_offset": 1}))
	x.do(http.MethodPatch, "/connectors/lines/offsets", offset(0, map[string]any{"kafka_offset": at[len(at)-10]}))
	altered := x.linesOffsets()
	altered["numbers-0 records"] -= 10
	x.awaitOffsets("lines", altered)
	x.do(http.MethodPatch, "/connectors/lines/offsets", offset(1, nil))
	delete(altered, "numbers-1 records")
	x.awaitOffsets("lines", altered)
	x.resumeLines()
	x.do(http.MethodPut, "/connectors/lines/stop", nil)
	x.awaitStatus("lines", "STOPPED", "", 0)
	x.do(http.MethodDelete, "/connectors/lines/offsets", nil)
	x.do(http.MethodGet, "/connectors/lines/offsets", nil)
	x.tellGroups("Stable")
	x.resumeLines()
}

// resumeLines resumes the stopped sink and tells how many different records it writes from its offsets on.
func (x *connectRun) resumeLines() {
	x.t.Helper()
	before := x.sunkLines()
	x.do(http.MethodPut, "/connectors/lines/resume", nil)
	x.awaitOffsets("lines", x.linesOffsets())
	after := x.sunkLines()
	for _, partition := range slices.Sorted(maps.Keys(after)) {
		lines := after[partition][len(before[partition]):]
		slices.Sort(lines)
		x.tell("%s came again: %d", partition, len(slices.Compact(lines)))
	}
}

// scriptSourceOffsets alters and resets the offsets of sources, which then write again what they had written.
func (x *connectRun) scriptSourceOffsets() {
	next := func(to any) map[string]any {
		return map[string]any{"offsets": []any{map[string]any{"partition": map[string]any{"lane": "1"}, "offset": to}}}
	}
	x.do(http.MethodDelete, "/connectors/numbers/offsets", nil)
	x.do(http.MethodPut, "/connectors/numbers/stop", nil)
	x.awaitStatus("numbers", "STOPPED", "", 0)
	x.do(http.MethodPatch, "/connectors/numbers/offsets", next(map[string]any{"next": "none"}))
	x.do(http.MethodPatch, "/connectors/numbers/offsets", next(map[string]any{"next": x.numbers - 45}))
	altered := x.numbersOffsets()
	altered["map[lane:1] next"] -= 45
	x.awaitOffsets("numbers", altered)
	before := len(x.places("numbers", 1))
	x.do(http.MethodPut, "/connectors/numbers/resume", nil)
	x.awaitOffsets("numbers", x.numbersOffsets())
	x.tell("numbers came again in lane 1: %d", len(x.places("numbers", 1))-before)

	x.do(http.MethodPut, "/connectors/file-a/stop", nil)
	x.awaitStatus("file-a", "STOPPED", "", 0)
	position := x.offsets("file-a")
	before = len(x.places("lines-a", 0))
	x.do(http.MethodDelete, "/connectors/file-a/offsets", nil)
	x.do(http.MethodGet, "/connectors/file-a/offsets", nil)
	x.do(http.MethodPut, "/connectors/file-a/resume", nil)
	x.awaitOffsets("file-a", position)
	x.tell("lines came again: %d", len(x.places("lines-a", 0))-before)
}

// scriptRebalances restarts tasks and has more and fewer of them.
func (x *connectRun) scriptRebalances() {
	x.do(http.MethodPost, "/connectors/numbers/tasks/0/restart", nil)
	x.awaitStatus("numbers", "RUNNING", "RUNNING", 2)
	x.do(http.MethodPost, "/connectors/numbers/tasks/7/restart", nil)
	answer := x.rest(http.MethodPost, "/connectors/lines/restart?includeTasks=true", nil)
	x.tell("restart of lines: %d", answer.code) // its status is that of one moment
	x.awaitStatus("lines", "RUNNING", "RUNNING", 2)
	for _, tasks := range []int{3, 1} {
		config := x.connector("numbers")
		config["tasks.max"] = fmt.Sprint(tasks)
		x.numbers += connectBatch
		config["count"] = fmt.Sprint(x.numbers)
		answer := x.rest(http.MethodPut, "/connectors/numbers/config", config)
		x.tell("numbers with %d tasks: %d", tasks, answer.code)
		x.awaitStatus("numbers", "RUNNING", "RUNNING", tasks)
		x.awaitOffsets("numbers", x.numbersOffsets())
	}
	x.awaitOffsets("lines", x.linesOffsets())
}

// scriptFailures has connectors that are wrong, that the broker refuses something, and that put records aside.
func (x *connectRun) scriptFailures() {
	wrong := x.connector("file-a")
	delete(wrong, "file") // standard input is not exactly once
	x.do(http.MethodPut, "/connectors/wrong/config", wrong)
	x.do(http.MethodPost, "/connectors", map[string]any{"name": "copy", "config": x.connector("copy")})

	x.scriptTooLarge()
	x.scriptAside()
}

// scriptTooLarge has a source write what the topic does not take, until it may.
func (x *connectRun) scriptTooLarge() {
	createTopic(x.t, x.addr, "small", connectLanes, map[string]string{"max.message.bytes": "1000"})
	large := x.connector("numbers")
	delete(large, "transaction.boundary")
	for key, value := range map[string]string{"topic": "small", "size": "2000", "count": "100", "tasks.max": "1"} {
		large[key] = value
	}
	answer := x.rest(http.MethodPut, "/connectors/large/config", large)
	x.tell("connector large: %d", answer.code)
	x.awaitFailure("large")
	x.do(http.MethodGet, "/connectors/large/offsets", nil)
	x.setTopic("small", "max.message.bytes", "1000000")
	answer = x.rest(http.MethodPost, "/connectors/large/restart?includeTasks=true&onlyFailed=true", nil)
	x.tell("restart of large: %d", answer.code)
	x.awaitOffsets("large", map[string]int64{"map[lane:0] next": 100, "map[lane:1] next": 100, "map[lane:2] next": 100})
	x.awaitStatus("large", "RUNNING", "RUNNING", 1)
}

// scriptAside has a sink that cannot read what is in the topic and puts it into another one.
func (x *connectRun) scriptAside() {
	aside := x.connector("lines")
	delete(aside, "topics.regex")
	for key, value := range map[string]string{"topics": "lines-b", "tasks.max": "1", "value.converter": "org.apache.kafka.connect.json.JsonConverter",
		"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead", "errors.deadletterqueue.topic.replication.factor": "1",
		"errors.deadletterqueue.context.headers.enable": "true"} {
		aside[key] = value
	}
	answer := x.rest(http.MethodPut, "/connectors/aside/config", aside)
	x.tell("connector aside: %d", answer.code)
	x.awaitOffsets("aside", map[string]int64{"lines-b-0 records": int64(len(x.places("lines-b", 0)))})
	first := ""
	x.await("every line of file-b in dead", func() bool { // comes after the offsets are committed
		values := map[string]bool{}
		x.read("dead", 0, func(r *kgo.Record) {
			if len(values) == 0 {
				var names []string
				for _, h := range r.Headers {
					names = append(names, h.Key)
				}
				first = fmt.Sprintf("%s %s", r.Value, strings.Join(names, ", "))
			}
			values[string(r.Value)] = true
		})
		return len(values) == len(x.lines["lines-b"])
	})
	x.tell("dead holds every line, the first %s", first)
}

// scriptEnd tells what the broker has of Connect, and deletes the connectors.
func (x *connectRun) scriptEnd() {
	x.tellGroups("Stable")
	x.tellTopics()
	for _, name := range []string{"numbers", "lines", "copy", "file-a", "file-b", "large", "aside"} {
		x.do(http.MethodDelete, "/connectors/"+name, nil)
	}
	x.do(http.MethodDelete, "/connectors/numbers", nil)
	x.await("no connector", func() bool { return x.rest(http.MethodGet, "/connectors", nil).body == "[]" })
	x.tellGroups("Empty")
	x.tellLatest("connect-configs", 1, false)
	x.tellLatest("connect-offsets", 2, true)
}

// setTopic sets a setting of a topic.
func (x *connectRun) setTopic(topic, key, value string) {
	x.t.Helper()
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	of := kmsg.NewIncrementalAlterConfigsRequestResource()
	of.ResourceType, of.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, &value
	of.Configs = append(of.Configs, c)
	q.Resources = append(q.Resources, of)
	cl := newClient(x.t, x.addr)
	defer cl.Close()
	if code := ask[*kmsg.IncrementalAlterConfigsResponse](x.t, cl, q).Resources[0].ErrorCode; code != 0 {
		x.t.Fatalf("%s=%s of %s: error %d", key, value, topic, code)
	}
}

// tellGroups waits until the groups of sinks are in a state and all workers are in theirs, and tells which groups the broker has.
func (x *connectRun) tellGroups(state string) {
	x.t.Helper()
	cl := newClient(x.t, x.addr)
	defer cl.Close()
	q := kmsg.NewPtrDescribeGroupsRequest()
	q.Groups = []string{"connect"}
	var groups []string
	workers := ""
	x.await("groups of sinks that are "+state+", and a stable one of workers", func() bool {
		groups = nil
		all := true
		for _, g := range ask[*kmsg.ListGroupsResponse](x.t, cl, kmsg.NewPtrListGroupsRequest()).Groups {
			all = all && (g.GroupState == state || g.ProtocolType != "consumer")
			groups = append(groups, fmt.Sprintf("%s (%s, %s, %s)", g.Group, g.ProtocolType, g.GroupState, g.GroupType))
		}
		g := ask[*kmsg.DescribeGroupsResponse](x.t, cl, q).Groups[0]
		workers = fmt.Sprintf("group %s: %s %s, %d members", g.Group, g.ProtocolType, g.Protocol, len(g.Members))
		return all && g.State == "Stable" && len(g.Members) == len(x.workers)
	})
	slices.Sort(groups)
	x.tell("groups: %s", strings.Join(groups, ", "))
	x.tell("%s", workers)
}

// tellTopics tells the partitions and the own settings of every topic.
func (x *connectRun) tellTopics() {
	x.t.Helper()
	cl := newClient(x.t, x.addr)
	defer cl.Close()
	for _, topic := range topicsOf(x.t, cl) {
		q := kmsg.NewPtrDescribeConfigsRequest()
		of := kmsg.NewDescribeConfigsRequestResource()
		of.ResourceType, of.ResourceName = kmsg.ConfigResourceTypeTopic, *topic.Topic
		q.Resources = append(q.Resources, of)
		var own []string
		for _, c := range ask[*kmsg.DescribeConfigsResponse](x.t, cl, q).Resources[0].Configs {
			if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
				own = append(own, c.Name+"="+*c.Value)
			}
		}
		slices.Sort(own)
		x.tell("topic %s: %d partitions, %s", *topic.Topic, len(topic.Partitions), strings.Join(own, ", "))
	}
}

// tellLatest tells the keys of a compacted topic with their newest values, or whether there is one.
func (x *connectRun) tellLatest(topic string, partitions int32, values bool) {
	x.t.Helper()
	latest := map[string]string{}
	for p := range partitions {
		x.read(topic, p, func(r *kgo.Record) {
			value := string(r.Value)
			if r.Value == nil {
				value = "deleted"
			} else if !values {
				value = "there"
			}
			latest[strings.ReplaceAll(string(r.Key), x.root, "FILES")] = value
		})
	}
	for _, key := range slices.Sorted(maps.Keys(latest)) {
		x.tell("%s: %s %s", topic, key, latest[key])
	}
}
