package handlers

// AddOffsetsToTxn, versions 0 to 4: the partition of __consumer_offsets that
// keeps a group becomes part of the transaction.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) addOffsetsToTxn(_ context.Context, req *protocol.Request, body *kmsg.AddOffsetsToTxnRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	err := a.txns.AddPartitions(body.TransactionalID, txn.Producer{ID: body.ProducerID, Epoch: body.ProducerEpoch},
		[]txn.Partition{a.offsetsPartition(body.Group)}, txn.Version0)
	resp.ErrorCode = txnErrorCode(err, req.Version >= 2)
	return resp, nil
}

// offsetsPartition is the partition that keeps a group. While there is no topic,
// it is the one that the topic will have for it.
func (a *API) offsetsPartition(id string) txn.Partition {
	n, ok := a.groups.PartitionFor(id)
	if !ok {
		n = group.PartitionFor(id, int32(a.layers().Int("offsets.topic.num.partitions")))
	}
	return txn.Partition{Topic: offsetsTopic, Partition: n}
}
