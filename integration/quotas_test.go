package integration

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// brokerAddrEnv names a running broker that tests of this file's kind go to instead of starting one. That is how their
// expectations are checked against Apache Kafka.
const brokerAddrEnv = "MINIBROKER_TEST_BROKER"

// testBroker is the address of a broker for a test: a new one, which is stopped and verified at the end.
func testBroker(t *testing.T, overrides ...string) string {
	t.Helper()
	if addr := os.Getenv(brokerAddrEnv); addr != "" {
		return addr
	}
	addr := freeAddr(t)
	p := startProcess(t, t.TempDir(), addr, overrides)
	t.Cleanup(func() { p.Stop(t) })
	return addr
}

// quotaClient is a connection that sets quotas and one of a client that has them.
type quotaClient struct {
	*testing.T
	addr  string
	admin *Conn
}

func (q *quotaClient) dial(clientID string) *Conn {
	q.Helper()
	c, err := dialAs(q.addr, clientID)
	if err != nil {
		q.Fatal(err)
	}
	q.Cleanup(c.Close)
	return c
}

// request sends r and returns its answer.
func (q *quotaClient) request(c *Conn, r kmsg.Request, version int16) kmsg.Response {
	q.Helper()
	resp, err := c.Request(r, version)
	if err != nil {
		q.Fatal(err)
	}
	return resp
}

// set gives limits to an entity, written as user=ANONYMOUS,client-id= with an empty name for the default; a limit below 0
// removes it. It returns when they are in force.
func (q *quotaClient) set(entity, key string, limit float64) {
	q.Helper()
	r := kmsg.NewPtrAlterClientQuotasRequest()
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	for _, part := range strings.Split(entity, ",") {
		kind, name, _ := strings.Cut(part, "=")
		e := kmsg.NewAlterClientQuotasRequestEntryEntity()
		if e.Type = kind; name != "" {
			e.Name = &name
		}
		entry.Entity = append(entry.Entity, e)
	}
	op := kmsg.NewAlterClientQuotasRequestEntryOp()
	op.Key, op.Value, op.Remove = key, limit, limit < 0
	entry.Ops = append(entry.Ops, op)
	r.Entries = append(r.Entries, entry)
	for _, e := range q.request(q.admin, r, 1).(*kmsg.AlterClientQuotasResponse).Entries {
		if e.ErrorCode != 0 {
			q.Fatalf("set %s of %s: %d %s", key, entity, e.ErrorCode, text(e.ErrorMessage))
		}
	}
	if os.Getenv(brokerAddrEnv) != "" {
		<-time.After(300 * time.Millisecond) // Kafka answers before its broker has heard of it
	}
}

// produce sends one record of a size and returns for how long the client is throttled, in milliseconds.
func (q *quotaClient) produce(c *Conn, topic string, size int) int32 {
	q.Helper()
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = 1, 30000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = q.recordOfSize(size)
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp := q.request(c, r, 9).(*kmsg.ProduceResponse)
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
		q.Fatalf("produce: error %d", code)
	}
	return resp.ThrottleMillis
}

// produced writes a record to a topic that has just been made.
func (q *quotaClient) produced(topic string, size int) {
	q.Helper()
	if !await(patience, func() bool {
		resp, err := q.admin.Produce(topic, 0, q.recordOfSize(size))
		if err != nil {
			q.Fatal(err)
		}
		return resp.ErrorCode == 0
	}) {
		q.Fatalf("%s cannot be written to", topic)
	}
}

// fetch reads from offset 0 and returns the throttle time and how many bytes of records came.
func (q *quotaClient) fetch(c *Conn, topic string) (throttle int32, bytes int) {
	q.Helper()
	r := kmsg.NewPtrFetchRequest()
	r.MaxBytes, r.SessionEpoch = 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp := q.request(c, r, 12).(*kmsg.FetchResponse)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			bytes += len(p.RecordBatches)
		}
	}
	return resp.ThrottleMillis, bytes
}

// create makes a topic and returns the throttle time and the error code.
func (q *quotaClient) create(c *Conn, topic string, partitions int32, version int16, validateOnly bool) (throttle int32, code int16) {
	q.Helper()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.TimeoutMillis, r.ValidateOnly = 30000, validateOnly
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	r.Topics = append(r.Topics, t)
	resp := q.request(c, r, version).(*kmsg.CreateTopicsResponse)
	return resp.ThrottleMillis, resp.Topics[0].ErrorCode
}

// TestQuotas holds clients to their quotas and compares the throttle times with those of Apache Kafka 4.4.0, to which the
// same requests were sent.
func TestQuotas(t *testing.T) {
	addr := testBroker(t)
	q := &quotaClient{T: t, addr: addr}
	q.admin = q.dial("admin")
	if err := q.admin.CreateTopic("quotas", 1, nil); err != nil {
		t.Fatal(err)
	}
	q.produced("quotas", 1)
	for name, test := range map[string]func(*quotaClient){
		"produce": produceQuota, "fetch": fetchQuota, "request": requestQuota, "mutations": mutationQuota, "entities": quotaEntities,
	} {
		t.Run(name, func(t *testing.T) {
			test(&quotaClient{T: t, addr: addr, admin: q.admin})
		})
	}
	t.Run("connections", func(t *testing.T) { connectionQuota(&quotaClient{T: t, addr: addr, admin: q.admin}) })
}

// between fails unless a throttle time is what Kafka's arithmetic gives: exact for the first request of a client, a bit less
// when time has passed since.
func (q *quotaClient) between(what string, got, least, most int32) {
	q.Helper()
	if got < least || got > most {
		q.Errorf("%s: throttled for %d ms, Kafka gives %d to %d", what, got, least, most)
	}
}

// heldBack fails unless the next request of a throttled client waits for at least that long.
func (q *quotaClient) heldBack(c *Conn, since time.Time, throttle int32) {
	q.Helper()
	q.request(c, kmsg.NewPtrApiVersionsRequest(), 0)
	if waited := time.Since(since); waited < time.Duration(throttle)*time.Millisecond {
		q.Errorf("the next request was answered after %v, the client is throttled for %d ms", waited, throttle)
	}
}

func produceQuota(q *quotaClient) {
	q.set("client-id=producer", "producer_byte_rate", 140)
	c := q.dial("producer")
	before := time.Now()
	throttle := q.produce(c, "quotas", 1400)
	q.between("produce", throttle, producedThrottle, producedThrottle)
	q.heldBack(c, before, throttle)
	q.between("a client without a quota", q.produce(q.dial("another"), "quotas", 1400), 0, 0)
	q.set("client-id=producer", "producer_byte_rate", -1)
	q.between("after its removal", q.produce(c, "quotas", 1400), 0, 0)
}

// producedThrottle is for a request of 1514 bytes at 140 bytes a second.
const producedThrottle = 814

func fetchQuota(q *quotaClient) {
	if err := q.admin.CreateTopic("fetched", 1, nil); err != nil {
		q.Fatal(err)
	}
	q.produced("fetched", 3000)
	q.set("client-id=consumer", "consumer_byte_rate", 610)
	c := q.dial("consumer")
	throttle, bytes := q.fetch(c, "fetched")
	q.between("first fetch", throttle, 0, 0)
	if bytes < 3000 {
		q.Errorf("the first fetch brought %d bytes", bytes)
	}
	before := time.Now()
	throttle, bytes = q.fetch(c, "fetched")
	q.between("second fetch", throttle, 1, fetchedThrottle)
	if bytes != 0 {
		q.Errorf("the throttled fetch brought %d bytes", bytes)
	}
	q.heldBack(c, before, throttle)
}

// fetchedThrottle is for two answers of 3137 bytes at 610 bytes a second, when no time passes between them.
const fetchedThrottle = 285

func requestQuota(q *quotaClient) {
	q.set("client-id=asker", "request_percentage", 0.00001)
	c := q.dial("asker")
	before := time.Now()
	resp := q.request(c, kmsg.NewPtrListGroupsRequest(), 4).(*kmsg.ListGroupsResponse)
	q.between("request", resp.ThrottleMillis, 1000, 1000)
	q.heldBack(c, before, resp.ThrottleMillis)
	q.set("client-id=asker", "request_percentage", -1)
}

func mutationQuota(q *quotaClient) {
	q.set("client-id=creator", "controller_mutation_rate", 1)
	c := q.dial("creator")
	throttle, code := q.create(c, "many", 12, 7, false)
	q.between("what overdraws the quota", throttle, 0, 0)
	if code != 0 {
		q.Errorf("the first topic: error %d", code)
	}
	throttle, code = q.create(c, "refused", 1, 7, true)
	q.between("what comes next", throttle, 700, 1000)
	if code != 89 {
		q.Errorf("the second topic: error %d, Kafka gives 89", code)
	}
	throttle, code = q.create(c, "old", 2, 5, false)
	q.between("an old version", throttle, 500, 3000)
	if code != 0 {
		q.Errorf("an old version: error %d", code)
	}
}

// quotaEntities checks which of several quotas counts.
func quotaEntities(q *quotaClient) {
	const key, low, high = "producer_byte_rate", 140, 1e9
	for _, test := range []struct {
		name    string
		limits  map[string]float64
		limited bool
	}{
		{"client default", map[string]float64{"client-id=": low}, true},
		{"client over its default", map[string]float64{"client-id=": low, "client-id=$c": high}, false},
		{"user default over client", map[string]float64{"client-id=$c": low, "user=": high}, false},
		{"user over its default", map[string]float64{"user=": low, "user=ANONYMOUS": high}, false},
		{"user", map[string]float64{"user=ANONYMOUS": low, "client-id=$c": high}, true},
		{"client of default user behind user", map[string]float64{"user=,client-id=$c": low, "user=ANONYMOUS": high}, false},
		{"client of default user before default user", map[string]float64{"user=,client-id=$c": low, "user=": high}, true},
		{"default client of user before user", map[string]float64{"user=ANONYMOUS,client-id=": low, "user=ANONYMOUS": high}, true},
		{"client of user first", map[string]float64{"user=ANONYMOUS,client-id=$c": high, "user=ANONYMOUS,client-id=": low, "user=ANONYMOUS": low}, false},
		{"default client of default user", map[string]float64{"user=,client-id=": low}, true},
	} {
		client := "c-" + strings.ReplaceAll(test.name, " ", "-")
		for entity, limit := range test.limits {
			q.set(strings.ReplaceAll(entity, "$c", client), key, limit)
		}
		if throttle := q.produce(q.dial(client), "quotas", 3000); (throttle > 0) != test.limited {
			q.Errorf("%s: throttled for %d ms", test.name, throttle)
		}
		for entity := range test.limits {
			q.set(strings.ReplaceAll(entity, "$c", client), key, -1)
		}
	}
}

// connectionQuota opens connections until one is throttled: that one is not served, and closed a while later.
func connectionQuota(q *quotaClient) {
	q.set("ip=127.0.0.1", "connection_creation_rate", 1)
	served := 0
	for served < 20 {
		c := q.dial("many")
		if _, err := c.Request(kmsg.NewPtrApiVersionsRequest(), 0); err != nil {
			break
		}
		served++
	}
	if served != 10 {
		q.Errorf("%d connections were served at once, with Kafka 10", served)
	}
	q.set("ip=127.0.0.1", "connection_creation_rate", -1)
	c, err := net.DialTimeout("tcp", q.addr, patience)
	if err != nil {
		q.Fatal(err)
	}
	c.Close()
	q.request(q.dial("again"), kmsg.NewPtrApiVersionsRequest(), 0)
}

// recordOfSize is a batch of one record whose value has a size.
func (q *quotaClient) recordOfSize(n int) []byte {
	b := record.NewBuilder(record.BuilderOptions{})
	if err := b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: slices.Repeat([]byte("x"), n)}); err != nil {
		q.Fatal(err)
	}
	batch, err := b.Build()
	if err != nil {
		q.Fatal(err)
	}
	return batch
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
