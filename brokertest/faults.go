package brokertest

import "minibroker/fault"

// Fault says which requests to harm, and how; see the fields. Times: 1 harms one request, 0 all of them.
type Fault = fault.Rule

// Injected is a fault in force: Count tells how many requests it has harmed, Remove ends it.
type Injected = fault.Active

// Partition selects a partition in a Fault.
func Partition(n int32) *int32 { return &n }

// Fail puts a fault in force until it is used up, removed or the test ends; Restart and Kill leave it. Faults come one after
// another in the order of their making.
//
//	b.Fail(brokertest.Fault{API: "Produce", Topic: "orders", Error: "NOT_LEADER_OR_FOLLOWER", Times: 1})
//	b.Fail(brokertest.Fault{API: "Fetch", ClientID: "slow", Delay: time.Second})
//	b.Fail(brokertest.Fault{API: "OffsetCommit", Drop: true, After: true, Times: 1}) // committed, but the client does not learn
func (b *Broker) Fail(f Fault) *Injected {
	b.t.Helper()
	active, err := b.faults.Add(f)
	if err != nil {
		b.t.Fatalf("brokertest: %v", err)
	}
	return active
}

// Heal removes all faults.
func (b *Broker) Heal() { b.faults.Clear() }
