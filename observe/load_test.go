package observe

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceCount is the series of the number of Produce requests, of all versions.
const produceCount = `kafka_network_requestmetrics_totaltimems_count_total{request="Produce"}`

// load is what the values of testdata/kafka-4.4.0.values were taken after, against Kafka by the same client: 304 records in 16
// requests to three partitions, one record without a key to a compacted topic, a group that read all but the last three. It
// returns the group's client, which is still a member.
func load(t *testing.T, addr string) *kgo.Client {
	t.Helper()
	ctx := deadline(t)
	c := client(t, addr, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.ProducerBatchCompression(kgo.NoCompression()))
	createTopics(t, c)
	for p := range int32(3) {
		for range 4 {
			var records []*kgo.Record
			for range 25 {
				records = append(records, &kgo.Record{Topic: "orders", Partition: p, Value: []byte(strings.Repeat("x", 100))})
			}
			if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.ProduceSync(ctx, &kgo.Record{Topic: "keyed", Value: []byte("v")}).FirstErr(); err == nil {
		t.Error("a record without a key went into a compacted topic")
	}
	if err := c.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: make([]byte, 10)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	member := client(t, addr, kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	poll(t, member, 301)
	if err := member.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	for p := range int32(3) {
		if err := c.ProduceSync(ctx, &kgo.Record{Topic: "orders", Partition: p, Value: []byte("late")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return member
}

func createTopics(t *testing.T, c *kgo.Client) {
	t.Helper()
	compact := "compact"
	req := kmsg.NewPtrCreateTopicsRequest()
	for name, partitions := range map[string]int32{"orders": 3, "keyed": 1} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
		if name == "keyed" {
			policy := kmsg.NewCreateTopicsRequestTopicConfig()
			policy.Name, policy.Value = "cleanup.policy", &compact
			topic.Configs = append(topic.Configs, policy)
		}
		req.Topics = append(req.Topics, topic)
	}
	if _, err := req.RequestWith(deadline(t), c); err != nil {
		t.Fatal(err)
	}
}

// poll reads n records.
func poll(t *testing.T, c *kgo.Client, n int) {
	t.Helper()
	for n > 0 {
		fetches := c.PollFetches(deadline(t))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		n -= fetches.NumRecords()
	}
}

// TestValuesAsKafka: after the same load the same numbers as Kafka's.
func TestValuesAsKafka(t *testing.T) {
	o := open(t)
	member := load(t, o.addr)
	s := o.counted(t, 17, produceCount)
	skipped := 0
	for _, line := range lines(t, "kafka-4.4.0.values") {
		key, text, _ := strings.Cut(line, " ")
		want := parse(t, "x "+text).values["x"]
		if got, ok := s.values[key]; !ok {
			skipped++
		} else if got != want {
			t.Errorf("%s is %v, with Kafka %v", key, got, want)
		}
	}
	if skipped > 10 {
		t.Errorf("%d values of Kafka's have no counterpart", skipped)
	}
	s.is(t, 5, `kafka_server_brokertopicmetrics_messagesin_total{topic="__consumer_offsets"}`)
	s.is(t, 17, `kafka_network_requestmetrics_requests_total{request="Produce",version="13"}`)
	s.is(t, 17, produceCount)
	poll(t, member, 3)
	s = o.scrape(t)
	s.is(t, 33726, `kafka_server_brokertopicmetrics_bytesout_total{topic="orders"}`)
	for p, offset := range []float64{101, 100, 100} {
		s.is(t, offset, `kafka_consumergroup_current_offset{consumergroup="billing",partition="%d",topic="orders"}`, p)
		s.is(t, 1, `kafka_consumergroup_lag{consumergroup="billing",partition="%d",topic="orders"}`, p)
	}
	s.is(t, 3, `kafka_consumergroup_lag_sum{consumergroup="billing",topic="orders"}`)
	s.is(t, 301, `kafka_consumergroup_current_offset_sum{consumergroup="billing",topic="orders"}`)
	s.is(t, 1, `kafka_consumergroup_members{consumergroup="billing"}`)
	s.is(t, 1, `kafka_coordinator_group_groupmetadatamanager_numgroups`)
	s.is(t, 1, `kafka_coordinator_group_groupmetadatamanager_numgroupsstable`)
	s.is(t, 3, `kafka_coordinator_group_groupmetadatamanager_numoffsets`)
	if rss := s.values["process_resident_memory_bytes"]; isLinux() && rss < 1<<20 {
		t.Errorf("the process has %v bytes", rss)
	}
}

// TestNumbersUnderLoad: what several clients do at once is counted exactly, while it is scraped.
func TestNumbersUnderLoad(t *testing.T) {
	const producers, batches, records = 4, 50, 10
	o := open(t)
	createTopics(t, client(t, o.addr))
	quit := make(chan struct{})
	var scraping sync.WaitGroup
	scraping.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				get(t, o.monitor+"/metrics")
			}
		}
	})
	var all sync.WaitGroup
	for n := range producers {
		c := client(t, o.addr, kgo.ProducerBatchCompression(kgo.NoCompression()))
		all.Go(func() {
			for range batches {
				var set []*kgo.Record
				for range records {
					set = append(set, &kgo.Record{Topic: "orders", Partition: int32(n % 3), Value: fmt.Append(nil, n)})
				}
				if err := c.ProduceSync(deadline(t), set...).FirstErr(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	reader := client(t, o.addr, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	poll(t, reader, producers*batches*records)
	close(quit)
	scraping.Wait()
	s := o.counted(t, producers*batches, produceCount)
	topic := `{topic="orders"}`
	s.is(t, producers*batches*records, "kafka_server_brokertopicmetrics_messagesin_total%s", topic)
	s.is(t, producers*batches, "kafka_server_brokertopicmetrics_totalproducerequests_total%s", topic)
	size := 0.0
	for p := range 3 {
		size += s.values[fmt.Sprintf(`kafka_log_log_size{partition="%d",topic="orders"}`, p)]
	}
	s.is(t, size, "kafka_server_brokertopicmetrics_bytesin_total%s", topic)
	s.is(t, size, "kafka_server_brokertopicmetrics_bytesout_total%s", topic)
	s.is(t, producers*batches, produceCount)
	for _, q := range []string{"0.50", "0.999"} {
		if ms := s.values[fmt.Sprintf(`kafka_network_requestmetrics_totaltimems{quantile="%s",request="Produce"}`, q)]; ms <= 0 || ms > 30_000 {
			t.Errorf("quantile %s of the time of Produce is %v ms", q, ms)
		}
	}
}
