package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// Limits of one fetch.
const (
	fetchWaitMs   = 500
	fetchBytes    = 8 << 20
	fetchByName   = 12 // the last version that names topics by name
	recordMemory  = 1 << 30
	partitionSize = 1 << 20
)

// Position is where reading goes on in a partition.
type Position struct {
	Partition int32
	Offset    int64
}

// Fetch reads from partitions that one broker leads, calling fn for every record from the positions on, and moves the positions
// behind what was read. It waits a moment when there is nothing. fn's error ends it; the record is fn's only until it returns.
func (c *Client) Fetch(ctx context.Context, t Topic, at []*Position, fn func(partition int32, r *record.Record) error) error {
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = t.Name
	for _, p := range at {
		want := kmsg.NewFetchRequestTopicPartition()
		want.Partition, want.FetchOffset, want.PartitionMaxBytes = p.Partition, p.Offset, partitionSize
		topic.Partitions = append(topic.Partitions, want)
	}
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, fetchWaitMs, 1, fetchBytes
	req.SessionEpoch, req.Topics = -1, append(req.Topics, topic)
	resp, err := asked[*kmsg.FetchResponse](c.ask(ctx, t.Leaders[at[0].Partition], req, fetchByName))
	if err != nil {
		return err
	}
	if err := Failed(resp.ErrorCode, nil); err != nil {
		return fmt.Errorf("fetch from %s: %w", t.Name, err)
	}
	for _, answered := range resp.Topics {
		for _, p := range answered.Partitions {
			if err := Failed(p.ErrorCode, nil); err != nil {
				return fmt.Errorf("fetch from %s-%d: %w", t.Name, p.Partition, err)
			}
			for _, position := range at {
				if position.Partition == p.Partition {
					err = errors.Join(err, position.read(p.RecordBatches, fn))
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// read calls fn for the records of whole batches at the position or behind it. Control records are passed over.
func (p *Position) read(set []byte, fn func(partition int32, r *record.Record) error) error {
	for len(set) > 0 {
		batch, rest, err := record.Next(set)
		if errors.Is(err, record.ErrTruncated) {
			return nil // an answer may end in a piece of a batch
		}
		if err != nil {
			return err
		}
		set = rest
		if !batch.IsControl() {
			err = batch.ForEach(recordMemory, func(r *record.Record) error {
				if r.Offset < p.Offset {
					return nil
				}
				p.Offset = r.Offset + 1
				return fn(p.Partition, r)
			})
		}
		if err != nil {
			return err
		}
		p.Offset = max(p.Offset, batch.NextOffset())
	}
	return nil
}
