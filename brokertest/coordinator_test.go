package brokertest

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCoordinatorServesOnceItIsNamed: many clients ask a broker that has no groups and no transactions yet for their coordinators at the
// same time; whoever is told one is served by it at once. Some clients give NOT_COORDINATOR to the application.
func TestCoordinatorServesOnceItIsNamed(t *testing.T) {
	b := New(t)
	const clients = 12
	done := make(chan error, clients)
	ctx := deadline(t)
	for i := range clients {
		seed := newClient(t, b).SeedBrokers()[0]
		go func() { done <- useCoordinator(ctx, seed, int8(i%2)) }()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// useCoordinator asks for a coordinator of groups (kind 0) or transactions (1) and then asks the coordinator itself.
func useCoordinator(ctx context.Context, seed *kgo.Broker, kind int8) error {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorType, find.CoordinatorKeys = kind, []string{"one"}
	answer, err := seed.Request(ctx, find)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(answer.(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode); err != nil {
		return err
	}
	if kind == 0 {
		fetch, group := kmsg.NewPtrOffsetFetchRequest(), kmsg.NewOffsetFetchRequestGroup()
		group.Group = "one"
		fetch.Groups = append(fetch.Groups, group)
		if answer, err = seed.Request(ctx, fetch); err != nil {
			return err
		}
		return kerr.ErrorForCode(answer.(*kmsg.OffsetFetchResponse).Groups[0].ErrorCode)
	}
	id, begin := "one", kmsg.NewPtrInitProducerIDRequest()
	begin.TransactionalID, begin.TransactionTimeoutMillis, begin.ProducerID, begin.ProducerEpoch = &id, 60_000, -1, -1
	if answer, err = seed.Request(ctx, begin); err != nil {
		return err
	}
	if err = kerr.ErrorForCode(answer.(*kmsg.InitProducerIDResponse).ErrorCode); err == kerr.ConcurrentTransactions {
		return nil // another client's answer is being written
	}
	return err
}
