package handlers

// ListTransactions, versions 0 to 2, with its filters: states and producer ids,
// the age of the transaction from version 1, a pattern from version 2. The
// pattern has to match the whole id.

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) listTransactions(_ context.Context, req *protocol.Request, body *kmsg.ListTransactionsRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.ListTransactionsResponse)
	f := transactionFilter{ids: body.ProducerIDFilters, olderThanMs: -1, nowMs: time.Now().UnixMilli()}
	for _, name := range body.StateFilters {
		if state, ok := txn.ParseState(name); ok {
			f.states = append(f.states, state)
		} else {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, name)
		}
	}
	if len(body.StateFilters) > 0 && len(f.states) == 0 {
		return resp, nil
	}
	if req.Version >= 1 {
		f.olderThanMs = body.DurationFilterMillis
	}
	if req.Version >= 2 && body.TransactionalIDPattern != nil && *body.TransactionalIDPattern != "" {
		pattern, err := regexp.Compile(`\A(?:` + *body.TransactionalIDPattern + `)\z`)
		if err != nil {
			resp.ErrorCode = codeInvalidRegularExpression
			return resp, nil
		}
		f.pattern = pattern
	}
	all, err := a.txns.List()
	if err != nil {
		resp.ErrorCode = errorCode(err)
		return resp, nil
	}
	for i := range all {
		if f.takes(&all[i]) {
			state := kmsg.NewListTransactionsResponseTransactionState()
			state.TransactionalID, state.ProducerID = all[i].ID, all[i].Producer.ID
			state.TransactionState = all[i].State.String()
			resp.TransactionStates = append(resp.TransactionStates, state)
		}
	}
	return resp, nil
}

// transactionFilter is what a request wants to see. An empty list is no filter.
type transactionFilter struct {
	states      []txn.State
	ids         []int64
	olderThanMs int64 // of the transaction; below 0 is no filter
	pattern     *regexp.Regexp
	nowMs       int64
}

func (f *transactionFilter) takes(d *txn.Description) bool {
	switch {
	case len(f.ids) > 0 && !slices.Contains(f.ids, d.Producer.ID):
		return false
	case len(f.states) > 0 && !slices.Contains(f.states, d.State):
		return false
	case f.olderThanMs >= 0 && f.nowMs-d.StartMs <= f.olderThanMs:
		return false
	}
	return f.pattern == nil || f.pattern.MatchString(d.ID)
}
