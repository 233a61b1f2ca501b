package handlers

// InitProducerId, versions 0 to 5 (version 6, two-phase commit, is not listed by
// Kafka 4.4.0).
//
// A producer without a transactional id gets a new producer id with epoch 0, out
// of blocks that the metadata log hands out, so that no id comes twice. With a
// transactional id the transaction coordinator gives the producer its next epoch.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) initProducerID(_ context.Context, req *protocol.Request, body *kmsg.InitProducerIDRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	producer, err := a.newProducer(body)
	if err != nil {
		resp.ErrorCode = txnErrorCode(err, req.Version >= 4)
		return resp, nil
	}
	resp.ProducerID, resp.ProducerEpoch = producer.ID, producer.Epoch
	return resp, nil
}

func (a *API) newProducer(body *kmsg.InitProducerIDRequest) (txn.Producer, error) {
	if (body.ProducerID == -1) != (body.ProducerEpoch == -1) {
		return txn.Producer{}, &apiError{code: codeInvalidRequest}
	}
	if body.TransactionalID == nil {
		id, err := a.txns.ProducerIDs().Next()
		if err != nil {
			a.log.Error("allocate producer ids", "error", err)
		}
		return txn.Producer{ID: id}, err
	}
	r := txn.InitRequest{ID: *body.TransactionalID, TimeoutMs: body.TransactionTimeoutMillis}
	if body.ProducerID != -1 {
		r.Expected = &txn.Producer{ID: body.ProducerID, Epoch: body.ProducerEpoch}
	}
	return a.txns.InitProducerID(r)
}

// txnErrorCode is the code of the transaction coordinator's error. Versions that
// do not know of fencing are told of an invalid epoch.
func txnErrorCode(err error, knowsFencing bool) int16 {
	code := errorCode(err)
	if code == codeProducerFenced && !knowsFencing {
		return codeInvalidProducerEpoch
	}
	return code
}
