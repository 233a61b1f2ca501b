package handlers

// DescribeTransactions, version 0.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) describeTransactions(_ context.Context, _ *protocol.Request, body *kmsg.DescribeTransactionsRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, id := range body.TransactionalIDs {
		state := kmsg.NewDescribeTransactionsResponseTransactionState()
		state.TransactionalID = id
		d, err := a.txns.Describe(id)
		if err != nil {
			state.ErrorCode = errorCode(err)
		} else {
			describeTransaction(&state, &d)
		}
		resp.TransactionStates = append(resp.TransactionStates, state)
	}
	return resp, nil
}

func describeTransaction(state *kmsg.DescribeTransactionsResponseTransactionState, d *txn.Description) {
	state.State = d.State.String()
	state.TimeoutMillis, state.StartTimestamp = d.TimeoutMs, d.StartMs
	state.ProducerID, state.ProducerEpoch = d.Producer.ID, d.Producer.Epoch
	at := make(map[string]int)
	for _, p := range d.Partitions {
		i, ok := at[p.Topic]
		if !ok {
			i = len(state.Topics)
			at[p.Topic] = i
			t := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			t.Topic = p.Topic
			state.Topics = append(state.Topics, t)
		}
		state.Topics[i].Partitions = append(state.Topics[i].Partitions, p.Partition)
	}
}
