package gotest

import (
	"slices"
	"testing"
	"time"

	"minibroker/brokertest"
)

// patience bounds every wait.
const patience = 30 * time.Second

// client is what the tests want of a client.
type client interface {
	// produce sends values to a topic and waits until they are stored.
	produce(t *testing.T, addr, topic string, values ...string)
	// consume reads n values of a topic from its start, as a member of a group, and commits.
	consume(t *testing.T, addr, topic, group string, n int) []string
}

func clients() map[string]client {
	return map[string]client{"franz-go": franz{}, "sarama": saramaClient{}, "kafka-go": segmentio{}, "confluent-kafka-go": confluent{}}
}

// TestClients: each client writes and reads, in parallel, each with a broker of its own.
func TestClients(t *testing.T) {
	for name, c := range clients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.New(t, brokertest.Topic("orders", 1))
			want := []string{"a", "b", "c"}
			c.produce(t, b.Addr(), "orders", want...)
			if got := c.consume(t, b.Addr(), "orders", "billing", 3); !slices.Equal(got, want) {
				t.Errorf("read %q, want %q", got, want)
			}
			b.Restart()
			c.produce(t, b.Addr(), "orders", "d")
			if got := c.consume(t, b.Addr(), "orders", "audit", 4); !slices.Equal(got, append(want, "d")) {
				t.Errorf("read %q after the restart", got)
			}
		})
	}
}

// TestRetries: each client gets over an error and over a lost answer.
func TestRetries(t *testing.T) {
	for name, c := range clients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.New(t, brokertest.Topic("orders", 1))
			refused := b.Fail(brokertest.Fault{API: "Produce", Topic: "orders", Error: "NOT_LEADER_OR_FOLLOWER", Times: 1})
			late := b.Fail(brokertest.Fault{API: "FindCoordinator", Error: "COORDINATOR_NOT_AVAILABLE", Times: 1})
			c.produce(t, b.Addr(), "orders", "a")
			if got := c.consume(t, b.Addr(), "orders", "billing", 1); !slices.Equal(got, []string{"a"}) {
				t.Errorf("read %q", got)
			}
			if refused.Count() != 1 || late.Count() != 1 {
				t.Errorf("the faults were met %d and %d times", refused.Count(), late.Count())
			}
		})
	}
}

// TestFirstRecord prints how long a test waits for its broker and the first record: when a client is first used in the process,
// which is when librdkafka initialises itself for 100 ms and more, and from then on.
func TestFirstRecord(t *testing.T) {
	for _, use := range []string{"first use", "later use"} {
		for name, c := range clients() {
			begin := time.Now()
			b := brokertest.New(t, brokertest.Topic("orders", 1))
			ready := time.Since(begin)
			c.produce(t, b.Addr(), "orders", "a")
			t.Logf("%s, %s: the broker serves after %v, the first record is stored after %v",
				name, use, ready.Round(100*time.Microsecond), time.Since(begin).Round(100*time.Microsecond))
		}
	}
}
