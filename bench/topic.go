package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newClient is franz-go with its defaults, apart from options.
func newClient(addr string, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RetryTimeout(30 * time.Second),
		kgo.RequestTimeoutOverhead(5 * time.Minute)}, options...)...)
}

// newAsker is a client that asks again at once where others wait for a while, so that its own waits are not measured.
func newAsker(addr string) (*kgo.Client, error) {
	return newClient(addr, kgo.MetadataMinAge(10*time.Millisecond), kgo.RetryTimeout(time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 2 * time.Millisecond }))
}

// createTopic makes one topic that can be used.
func createTopic(ctx context.Context, addr, name string, partitions int, config map[string]string) error {
	if err := createTopics(ctx, addr, []string{name}, partitions, config); err != nil {
		return err
	}
	return awaitTopics(ctx, addr, []string{name}, partitions)
}

// createTopics asks for topics, all in one request.
func createTopics(ctx context.Context, addr string, names []string, partitions int, config map[string]string) error {
	cl, err := newClient(addr)
	if err != nil {
		return err
	}
	defer cl.Close()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.TimeoutMillis = int32((5 * time.Minute).Milliseconds())
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
		for _, key := range slices.Sorted(maps.Keys(config)) {
			c, value := kmsg.NewCreateTopicsRequestTopicConfig(), config[key]
			c.Name, c.Value = key, &value
			t.Configs = append(t.Configs, c)
		}
		r.Topics = append(r.Topics, t)
	}
	resp, err := r.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if t.ErrorCode != 0 {
			return fmt.Errorf("create topic %s: %w", t.Topic, kerr.ErrorForCode(t.ErrorCode))
		}
	}
	return nil
}

// awaitTopics returns when every partition of every topic tells its end: a creation may be answered before that.
func awaitTopics(ctx context.Context, addr string, names []string, partitions int) error {
	cl, err := newAsker(addr)
	if err != nil {
		return err
	}
	defer cl.Close()
	return until(ctx, 2*time.Millisecond, func() error {
		_, err := endsOf(ctx, cl, names, partitions)
		return err
	})
}

// endsOf sums up the end offsets of topics. It fails unless all partitions tell theirs.
func endsOf(ctx context.Context, cl *kgo.Client, names []string, partitions int) (sum int64, err error) {
	r := kmsg.NewPtrListOffsetsRequest()
	for _, name := range names {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = name
		for n := range partitions {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = int32(n), -1
			t.Partitions = append(t.Partitions, p)
		}
		r.Topics = append(r.Topics, t)
	}
	asking, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	resp, err := r.RequestWith(asking, cl)
	if err != nil {
		return 0, err
	}
	told := 0
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return 0, fmt.Errorf("end of %s-%d: %w", t.Topic, p.Partition, kerr.ErrorForCode(p.ErrorCode))
			}
			told++
			sum += p.Offset
		}
	}
	if told != len(names)*partitions {
		return 0, fmt.Errorf("%d of %d partitions tell their end", told, len(names)*partitions)
	}
	return sum, nil
}

// deleteTopic frees the disk; nothing depends on it.
func deleteTopic(ctx context.Context, addr, name string) {
	cl, err := newClient(addr)
	if err != nil {
		return
	}
	defer cl.Close()
	r, t := kmsg.NewPtrDeleteTopicsRequest(), kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	r.Topics, r.TopicNames, r.TimeoutMillis = []kmsg.DeleteTopicsRequestTopic{t}, []string{name}, 30000
	_, _ = r.RequestWith(ctx, cl)
}

// alterTopic sets one configuration of a topic.
func alterTopic(ctx context.Context, addr, name, key, value string) error {
	cl, err := newClient(addr)
	if err != nil {
		return err
	}
	defer cl.Close()
	r, res, c := kmsg.NewPtrIncrementalAlterConfigsRequest(), kmsg.NewIncrementalAlterConfigsRequestResource(), kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, &value
	res.ResourceType, res.ResourceName, res.Configs = kmsg.ConfigResourceTypeTopic, name, []kmsg.IncrementalAlterConfigsRequestResourceConfig{c}
	r.Resources = []kmsg.IncrementalAlterConfigsRequestResource{res}
	resp, err := r.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	if len(resp.Resources) != 1 {
		return fmt.Errorf("alter %s of %s: %d answers", key, name, len(resp.Resources))
	}
	return kerr.ErrorForCode(resp.Resources[0].ErrorCode)
}
