package handlers

// WriteTxnMarkers, versions 1 and 2. Coordinators on other brokers send it in
// Kafka; here it is used by tools, to end transactions that hang.

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) writeTxnMarkers(_ context.Context, _ *protocol.Request, body *kmsg.WriteTxnMarkersRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	for i := range body.Markers {
		m := &body.Markers[i]
		answer := kmsg.NewWriteTxnMarkersResponseMarker()
		answer.ProducerID = m.ProducerID
		for j := range m.Topics {
			t := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
			t.Topic = m.Topics[j].Topic
			for _, p := range m.Topics[j].Partitions {
				q := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
				q.Partition, q.ErrorCode = p, a.writeMarker(m, txn.Partition{Topic: t.Topic, Partition: p})
				t.Partitions = append(t.Partitions, q)
			}
			answer.Topics = append(answer.Topics, t)
		}
		resp.Markers = append(resp.Markers, answer)
	}
	return resp, nil
}

func (a *API) writeMarker(m *kmsg.WriteTxnMarkersRequestMarker, p txn.Partition) int16 {
	if m.ProducerID != -1 && m.ProducerEpoch == -1 {
		return codeUnknownServerError // Kafka cannot build such a batch
	}
	err := a.markers.WriteMarker(txn.Marker{
		Partition: p, ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, CoordinatorEpoch: m.CoordinatorEpoch,
		Commit: m.Committed, Version: txn.Version(m.TransactionVersion),
	})
	if errors.Is(err, txn.ErrNoPartition) {
		return codeUnknownTopicOrPartition
	}
	return errorCode(err)
}
