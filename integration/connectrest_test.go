package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// connectAnswer is what the REST API of a worker answered.
type connectAnswer struct {
	code int
	body string
}

// passing are answers of a worker that is not ready for a request: it starts or ends, or its group is about to rebalance.
func (a connectAnswer) passing() bool {
	return a.code == http.StatusServiceUnavailable ||
		a.code >= http.StatusBadRequest && !strings.HasPrefix(a.body, "{") || // of the server, not of Connect
		(a.code == http.StatusConflict || a.code == http.StatusInternalServerError) && connectPassing.MatchString(a.body)
}

// connectPassing are texts of answers that ask to try again.
var connectPassing = regexp.MustCompile(`rebalance|momentarily|IO Error trying to forward|timed out|fencing|haven't stopped completely`)

// once asks the first worker that takes connections.
func (x *connectRun) once(method, path string, body any) (connectAnswer, error) {
	x.t.Helper()
	text := ""
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			x.t.Fatal(err)
		}
		text = string(data)
	}
	client := http.Client{Timeout: 4 * patience}
	var refused error
	for _, w := range x.workers {
		q, err := http.NewRequestWithContext(x.t.Context(), method, "http://"+w.rest+path, strings.NewReader(text))
		if err != nil {
			x.t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(q)
		if err != nil {
			refused = err
			continue
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		return connectAnswer{resp.StatusCode, string(answer)}, err
	}
	return connectAnswer{}, refused
}

// rest asks until a worker gives an answer that lasts.
func (x *connectRun) rest(method, path string, body any) connectAnswer {
	x.t.Helper()
	var answer connectAnswer
	var err error
	if !await(4*patience, func() bool {
		answer, err = x.once(method, path, body)
		return err == nil && !answer.passing()
	}) {
		x.fail("%s %s: not within %v; the last answer is %d %s, the last error %v", method, path, 4*patience, answer.code, answer.body, err)
	}
	return answer
}

// configure makes a connector, or gives one its configuration of now.
func (x *connectRun) configure(name string) {
	x.t.Helper()
	answer := x.rest(http.MethodPut, "/connectors/"+name+"/config", x.connector(name))
	if answer.code != http.StatusOK && answer.code != http.StatusCreated {
		x.fail("connector %s: %d %s", name, answer.code, answer.body)
	}
}

// tell adds a line to what is compared with Apache Kafka.
func (x *connectRun) tell(format string, args ...any) {
	fmt.Fprintf(&x.said, format+"\n", args...)
}

// do asks and tells the answer.
func (x *connectRun) do(method, path string, body any) {
	x.t.Helper()
	answer := x.rest(method, path, body)
	x.tell("%s %s: %d %s", method, path, answer.code, x.plain(answer.body))
}

// connectNoise is what differs from run to run in answers of workers.
var connectNoise = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST:PORT"},
	{regexp.MustCompile(`"kafka_cluster_id":"[\w-]{22}"`), `"kafka_cluster_id":"CLUSTER"`},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
}

// plain is JSON in one order, without what differs from run to run.
func (x *connectRun) plain(body string) string {
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return strings.TrimSpace(body)
	}
	var text strings.Builder
	out := json.NewEncoder(&text) // sorts the keys of objects
	out.SetEscapeHTML(false)
	if err := out.Encode(sortedJSON(value)); err != nil {
		x.t.Fatal(err)
	}
	plain := strings.ReplaceAll(strings.TrimSpace(text.String()), x.root, "FILES")
	for _, n := range connectNoise {
		plain = n.pattern.ReplaceAllString(plain, n.instead)
	}
	return plain
}

// sortedJSON sorts the elements of all arrays: workers have them in the order of hash tables.
func sortedJSON(value any) any {
	switch v := value.(type) {
	case []any:
		for n := range v {
			v[n] = sortedJSON(v[n])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	case map[string]any:
		for k := range v {
			v[k] = sortedJSON(v[k])
		}
	}
	return value
}

// connectStatus is GET /connectors/NAME/status.
type connectStatus struct {
	Connector struct{ State string }
	Tasks     []struct{ State, Trace string }
}

// awaitStatus waits until a connector and its tasks, so many, are in a state.
func (x *connectRun) awaitStatus(name, connector, task string, tasks int) {
	x.t.Helper()
	var answer connectAnswer
	x.await(fmt.Sprintf("connector %s %s with %d tasks %s", name, connector, tasks, task), func() bool {
		answer = x.rest(http.MethodGet, "/connectors/"+name+"/status", nil)
		var status connectStatus
		if err := json.Unmarshal([]byte(answer.body), &status); err != nil || status.Connector.State != connector || len(status.Tasks) != tasks {
			return false
		}
		for _, of := range status.Tasks {
			if of.State != task {
				return false
			}
		}
		return true
	})
	x.tell("status of %s: %s", name, x.plain(answer.body))
}

// awaitFailure waits until a task of a connector has failed, and tells the cause.
func (x *connectRun) awaitFailure(name string) {
	x.t.Helper()
	cause := ""
	x.await("a failed task of "+name, func() bool {
		var status connectStatus
		answer := x.rest(http.MethodGet, "/connectors/"+name+"/status", nil)
		if err := json.Unmarshal([]byte(answer.body), &status); err != nil || len(status.Tasks) == 0 || status.Tasks[0].State != "FAILED" {
			return false
		}
		cause = status.Tasks[0].Trace
		cause, _, _ = strings.Cut(cause[max(0, strings.LastIndex(cause, "Caused by: ")):], "\n")
		return true
	})
	x.tell("%s failed: %s", name, cause)
}

// offsets are GET /connectors/NAME/offsets in a form to compare: those of partitions, and of topics the number of data
// records before the offset.
func (x *connectRun) offsets(name string) map[string]int64 {
	x.t.Helper()
	answer := x.rest(http.MethodGet, "/connectors/"+name+"/offsets", nil)
	var parsed struct {
		Offsets []struct {
			Partition map[string]any
			Offset    map[string]int64
		}
	}
	if err := json.Unmarshal([]byte(answer.body), &parsed); err != nil {
		x.fail("offsets of %s: %d %s", name, answer.code, answer.body)
	}
	offsets := map[string]int64{}
	for _, o := range parsed.Offsets {
		key := strings.ReplaceAll(fmt.Sprint(o.Partition), x.root, "FILES")
		for kind, n := range o.Offset {
			if topic, sink := o.Partition["kafka_topic"].(string); sink {
				at := x.places(topic, int32(o.Partition["kafka_partition"].(float64)))
				before, _ := slices.BinarySearch(at, n)
				key, n, kind = fmt.Sprintf("%s-%v", topic, o.Partition["kafka_partition"]), int64(before), "records"
			}
			offsets[key+" "+kind] = n
		}
	}
	return offsets
}

// awaitOffsets waits for the offsets of a connector, and tells them.
func (x *connectRun) awaitOffsets(name string, want map[string]int64) {
	x.t.Helper()
	var got map[string]int64
	x.await(fmt.Sprintf("offsets %v of %s", want, name), func() bool {
		got = x.offsets(name)
		return maps.Equal(got, want)
	})
	x.tell("offsets of %s: %v", name, got)
}

// places are the offsets of the committed data records in a partition.
func (x *connectRun) places(topic string, partition int32) (offsets []int64) {
	x.t.Helper()
	x.read(topic, partition, func(r *kgo.Record) { offsets = append(offsets, r.Offset) })
	return offsets
}

// read goes through the committed data records that are in a partition now.
func (x *connectRun) read(topic string, partition int32, each func(*kgo.Record)) {
	x.t.Helper()
	from := map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}
	cl := newClient(x.t, x.addr, kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer cl.Close()
	q := kmsg.NewPtrListOffsetsRequest()
	q.ReplicaID, q.IsolationLevel = -1, 1
	qt := kmsg.NewListOffsetsRequestTopic()
	qt.Topic = topic
	qp := kmsg.NewListOffsetsRequestTopicPartition()
	qp.Partition, qp.Timestamp = partition, -1
	qt.Partitions = append(qt.Partitions, qp)
	q.Topics = append(q.Topics, qt)
	end := ask[*kmsg.ListOffsetsResponse](x.t, cl, q).Topics[0].Partitions[0].Offset
	ctx, cancel := context.WithTimeout(x.t.Context(), 2*patience)
	defer cancel()
	for last := int64(-1); last < end-1; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			x.t.Fatalf("read %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if last = r.Offset; !r.Attrs.IsControl() && r.Offset < end {
				each(r)
			}
		})
	}
}
