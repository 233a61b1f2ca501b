package client

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// changeTimeoutMs is how long the broker may take for a change.
const changeTimeoutMs = 30_000

// CreateTopic creates a topic with as many partitions as told, -1 for the broker's default, and one replica of each.
func (c *Client) CreateTopic(ctx context.Context, name string, partitions int32, configs map[string]string) error {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, -1
	for key, value := range configs {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, &value
		t.Configs = append(t.Configs, config)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis, req.Topics = changeTimeoutMs, append(req.Topics, t)
	resp, err := asked[*kmsg.CreateTopicsResponse](c.ask(ctx, "", req, -1))
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := Failed(t.ErrorCode, t.ErrorMessage); err != nil {
			return fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	return nil
}

// DeleteTopic deletes a topic.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &name
	req.TimeoutMillis, req.Topics, req.TopicNames = changeTimeoutMs, append(req.Topics, t), []string{name}
	resp, err := asked[*kmsg.DeleteTopicsResponse](c.ask(ctx, "", req, -1))
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := Failed(t.ErrorCode, t.ErrorMessage); err != nil {
			return fmt.Errorf("delete topic %s: %w", name, err)
		}
	}
	return nil
}

// Kinds of resources that have settings.
const (
	TopicConfig  = kmsg.ConfigResourceTypeTopic
	BrokerConfig = kmsg.ConfigResourceTypeBroker
)

// Configs asks for the settings of a topic or broker.
func (c *Client) Configs(ctx context.Context, kind kmsg.ConfigResourceType, name string) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = append(req.Resources, r)
	resp, err := asked[*kmsg.DescribeConfigsResponse](c.ask(ctx, "", req, -1))
	if err != nil {
		return nil, err
	}
	var all []kmsg.DescribeConfigsResponseResourceConfig
	for _, r := range resp.Resources {
		if err := Failed(r.ErrorCode, r.ErrorMessage); err != nil {
			return nil, fmt.Errorf("settings of %s: %w", name, err)
		}
		all = append(all, r.Configs...)
	}
	return all, nil
}

// The timestamps that stand for the ends of a partition when offsets are asked for.
const (
	Latest   int64 = -1 // the offset of the next record
	Earliest int64 = -2 // that of the first one
)

// Offset asks for the offset that a time stands for, or the end of a partition.
func (c *Client) Offset(ctx context.Context, t Topic, partition int32, at int64) (int64, error) {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, at
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic, topic.Partitions = t.Name, append(topic.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, append(req.Topics, topic)
	resp, err := asked[*kmsg.ListOffsetsResponse](c.ask(ctx, t.Leaders[partition], req, -1))
	if err != nil {
		return 0, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			return p.Offset, Failed(p.ErrorCode, nil)
		}
	}
	return 0, ErrNoBroker
}
