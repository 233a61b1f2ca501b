package handlers

// ListOffsets, versions 1 to 11.
//
// Honoured: all special times that 4.4.0 knows, each from the version on that
// brought it, isolation from version 2, leader epochs from version 4. Without
// tiered storage the log's local start is its start, and there is no latest
// tiered nor earliest pending offset. The timeout is for remote look-ups and not
// needed. Throttle time is always 0.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/protocol"
)

// The times that are not times.
const (
	timeLatest          = -1
	timeEarliest        = -2
	timeMax             = -3 // the record with the largest timestamp
	timeEarliestLocal   = -4
	timeLatestTiered    = -5
	timeEarliestPending = -6 // the first record still to be tiered
)

// timeSince gives the version that brought a special time, 0 for none such.
func timeSince(timestamp int64) int16 {
	switch timestamp {
	case timeLatest, timeEarliest:
		return 1
	case timeMax:
		return 7
	case timeEarliestLocal:
		return 8
	case timeLatestTiered:
		return 9
	case timeEarliestPending:
		return 11
	}
	return 0
}

func (a *API) listOffsets(_ context.Context, _ *protocol.Request, body *kmsg.ListOffsetsRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.ListOffsetsResponse)
	image := a.meta.Image()
	if !partition.Isolation(body.IsolationLevel).Valid() {
		failListOffsets(body, resp)
		return resp, nil
	}
	topics := firstSeen[string]{room: len(body.Topics)}
	partitions := firstSeen[partitionKey]{room: len(body.Topics)}
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, 0, len(body.Topics))
	var slots []int // by partition number: place in its topic's list
	for i := range body.Topics {
		t := &body.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		n, known := topics.add(t.Topic)
		if !known {
			resp.Topics = append(resp.Topics, kmsg.ListOffsetsResponseTopic{Topic: t.Topic})
		}
		out := &resp.Topics[n]
		topic, _ := image.Topic(t.Topic)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			k, seen := partitions.add(partitionKey{topic: n, partition: p.Partition})
			if seen {
				out.Partitions[slots[k]] = noOffset(p.Partition, codeInvalidRequest)
				continue
			}
			slots = append(slots, len(out.Partitions))
			out.Partitions = append(out.Partitions, a.listOffset(body, topic, p))
		}
	}
	return resp, nil
}

// failListOffsets answers a request that cannot be carried out at all: each
// partition says so, as often as it was named.
func failListOffsets(body *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	for i := range body.Topics {
		out := kmsg.ListOffsetsResponseTopic{Topic: body.Topics[i].Topic}
		for j := range body.Topics[i].Partitions {
			out.Partitions = append(out.Partitions, noOffset(body.Topics[i].Partitions[j].Partition, codeUnknownServerError))
		}
		resp.Topics = append(resp.Topics, out)
	}
}

// noOffset is the answer without an offset: an error, or nothing found.
func noOffset(number int32, code int16) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition, p.ErrorCode, p.Timestamp, p.Offset, p.LeaderEpoch = number, code, -1, -1, -1
	return p
}

// listOffset answers for one partition.
func (a *API) listOffset(body *kmsg.ListOffsetsRequest, topic *metadata.Topic, ask *kmsg.ListOffsetsRequestTopicPartition) kmsg.ListOffsetsResponseTopicPartition {
	if since := timeSince(ask.Timestamp); ask.Timestamp < 0 && (since == 0 || body.Version < since) {
		return noOffset(ask.Partition, codeUnsupportedVersion)
	}
	p, err := a.servedPartition(topic, ask.Partition)
	if err == nil {
		err = p.CheckLeaderEpoch(ask.CurrentLeaderEpoch)
	}
	if err != nil {
		return noOffset(ask.Partition, errorCode(err))
	}
	found, ok, err := findOffset(p, ask.Timestamp, readableEnd(p, body))
	switch {
	case err != nil:
		a.log.Error("list offsets", "partition", p.TopicPartition().String(), "timestamp", ask.Timestamp, "error", err)
		return noOffset(ask.Partition, errorCode(err))
	case !ok:
		return noOffset(ask.Partition, codeNone)
	}
	out := noOffset(ask.Partition, codeNone)
	out.Timestamp, out.Offset, out.LeaderEpoch = found.timestamp, found.offset, found.epoch
	return out
}

// readableEnd is the end of what the asking client could fetch: a replica sees
// all, a consumer what its isolation allows.
func readableEnd(p *partition.Partition, body *kmsg.ListOffsetsRequest) int64 {
	switch {
	case body.ReplicaID != -1:
		return p.EndOffset()
	case partition.Isolation(body.IsolationLevel) == partition.ReadCommitted:
		return p.LastStableOffset()
	default:
		return p.HighWatermark()
	}
}

// foundOffset is a place in a log with the timestamp and leader epoch that go
// with it, -1 where there is none.
type foundOffset struct {
	offset, timestamp int64
	epoch             int32
}

// findOffset looks a time up; ok is false when there is nothing to tell.
func findOffset(p *partition.Partition, timestamp, end int64) (found foundOffset, ok bool, err error) {
	switch timestamp {
	case timeLatest:
		return foundOffset{offset: end, timestamp: -1, epoch: p.LeaderEpoch()}, true, nil
	case timeEarliest, timeEarliestLocal:
		start := p.LogStartOffset()
		return foundOffset{offset: start, timestamp: -1, epoch: p.EpochAt(start)}, true, nil
	case timeLatestTiered, timeEarliestPending:
		return found, false, nil
	case timeMax:
		found.offset, found.timestamp, found.epoch, ok, err = p.Log().MaxTimestampOffset()
	default:
		found.offset, found.timestamp, found.epoch, ok, err = p.Log().OffsetForTimestamp(timestamp, end)
	}
	return found, ok && found.offset < end, err
}
