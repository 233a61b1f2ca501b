package handlers

// AddOffsetsToTxn, versions 0 to 4: the partition of __consumer_offsets that
// keeps a group becomes part of the transaction.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) addOffsetsToTxn(_ context.Context, req *protocol.Request, body *kmsg.AddOffsetsToTxnRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	p, err := a.offsetsPartition(body.Group)
	if err == nil {
		err = a.txns.AddPartitions(body.TransactionalID, txn.Producer{ID: body.ProducerID, Epoch: body.ProducerEpoch},
			[]txn.Partition{p}, txn.Version0)
	}
	resp.ErrorCode = txnErrorCode(err, req.Version >= 2)
	return resp, nil
}

// offsetsPartition is the partition that keeps a group. The topic is made when
// it is not there: the group's first offset may come in a transaction.
func (a *API) offsetsPartition(group string) (txn.Partition, error) {
	n, ok := a.groups.PartitionFor(group)
	if !ok {
		if err := a.autoCreate(offsetsTopic); err != nil && !a.hasTopic(offsetsTopic) {
			a.log.Error("no topic to keep offsets in", "topic", offsetsTopic, "error", err)
			return txn.Partition{}, &apiError{code: codeCoordinatorNotAvailable}
		}
		if n, ok = a.groups.PartitionFor(group); !ok {
			return txn.Partition{}, &apiError{code: codeCoordinatorNotAvailable}
		}
	}
	return txn.Partition{Topic: offsetsTopic, Partition: n}, nil
}
