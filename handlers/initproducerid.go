package handlers

// InitProducerId, versions 0 to 5.
//
// A producer without a transactional id gets a new producer id with epoch 0,
// out of blocks that the metadata log hands out, so that no id comes twice.
//
// Deviation: a transactional id needs the transaction coordinator, which does
// not exist yet. What Kafka refuses before it asks the coordinator is refused
// here in the same way, the rest is answered with COORDINATOR_NOT_AVAILABLE.

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

func (a *API) initProducerID(_ context.Context, _ *protocol.Request, body *kmsg.InitProducerIDRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if resp.ErrorCode = a.checkInitProducerID(body); resp.ErrorCode != codeNone {
		return resp, nil
	}
	id, err := a.data.producerIDs.next(a.meta.AllocateProducerIDs)
	if err != nil {
		a.log.Error("allocate producer ids", "error", err)
		resp.ErrorCode = errorCode(err)
		return resp, nil
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp, nil
}

// checkInitProducerID returns what there is against giving out a new id.
func (a *API) checkInitProducerID(body *kmsg.InitProducerIDRequest) int16 {
	switch {
	case (body.ProducerID == -1) != (body.ProducerEpoch == -1):
		return codeInvalidRequest
	case body.TransactionalID == nil:
		return codeNone
	case *body.TransactionalID == "":
		return codeInvalidRequest
	case body.TransactionTimeoutMillis <= 0, body.TransactionTimeoutMillis > a.data.maxTransactionMs:
		return codeInvalidTransactionTimeout
	default:
		return codeCoordinatorNotAvailable
	}
}

// producerIDs hands out producer ids from the block that was last allocated.
// What is left of a block at a stop is never used.
type producerIDs struct {
	mu        sync.Mutex
	following int64 // the next id, when left > 0
	left      int64
}

// next returns a new id and asks for another block when there is none left.
func (p *producerIDs) next(allocate func() (first, n int64, err error)) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		first, n, err := allocate()
		if err != nil {
			return 0, err
		}
		p.following, p.left = first, n
	}
	id := p.following
	p.following++
	p.left--
	return id, nil
}
