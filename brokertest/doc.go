// Package brokertest gives a Go test a broker of its own: a real one, on a free port, with its files in the test's temporary
// directory. It is ready when New returns, which takes milliseconds, and gone with all it left when the test ends.
//
//	func TestOrders(t *testing.T) {
//		b := brokertest.New(t, brokertest.Topic("orders", 3))
//		client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
//		...
//	}
//
// Any client will do, and tests may run in parallel: nothing is shared between two brokers. When the test ends, the broker is
// stopped cleanly, all its files are verified, and a goroutine that it left behind fails the test.
//
// What differs from the defaults of the program suits tests: groups rebalance without a delay, the internal topics have one
// partition, and nothing waits for the disk, as the files do not outlive the test. Config changes any of Kafka's settings.
package brokertest
