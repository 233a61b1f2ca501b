package handlers

// EndTxn, versions 0 to 5. From version 5 on the producer's epoch is raised with
// each end and the answer says what it goes on with.
//
// Deviation: Kafka answers when the decision is written and lets the markers
// follow; here they are written before the answer.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) endTxn(_ context.Context, req *protocol.Request, body *kmsg.EndTxnRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.EndTxnResponse)
	producer, err := a.txns.End(body.TransactionalID, txn.Producer{ID: body.ProducerID, Epoch: body.ProducerEpoch},
		body.Commit, producerVersion(req.Version >= 5))
	if err != nil {
		resp.ErrorCode = txnErrorCode(err, req.Version >= 2)
		return resp, nil
	}
	resp.ProducerID, resp.ProducerEpoch = producer.ID, producer.Epoch
	return resp, nil
}
