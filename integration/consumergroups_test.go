package integration

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// quickHeartbeats lets members of consumer groups take their steps without long waits.
var quickHeartbeats = []string{
	"group.consumer.min.heartbeat.interval.ms=100", "group.consumer.heartbeat.interval.ms=200", "group.consumer.assignment.interval.ms=100",
}

// TestConsumerGroupReadsEachRecordOnce lets members of a consumer group come and go while records are written, and in one
// group members of the classic protocol beside them: the group changes its kind twice.
func TestConsumerGroupReadsEachRecordOnce(t *testing.T) {
	server := []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.ServerSideBalancer()}
	classic := []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer())}
	kinds := map[string][3][]kgo.Opt{
		"uniform": {server, server, server},
		"range": {
			{kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()}, {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
			{kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
		},
		"upgrade and back": {classic, server, classic},
	}
	for name, options := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := freeAddr(t)
			p := startProcess(t, filepath.Join(t.TempDir(), "data"), addr, quickHeartbeats)
			createTopic(t, addr, "numbers", 6, nil)
			c := newTally()
			first := startReader(t, addr, "numbers", c, options[0]...)
			produceNumbers(t, addr, "numbers", 0, 300)
			c.awaitReads(t, 100)
			second := startReader(t, addr, "numbers", c, options[1]...)
			produceNumbers(t, addr, "numbers", 300, 300)
			c.awaitReads(t, 600)
			first.leave()
			third := startReader(t, addr, "numbers", c, options[2]...)
			produceNumbers(t, addr, "numbers", 600, 300)
			c.awaitReads(t, 900)
			second.leave()
			produceNumbers(t, addr, "numbers", 900, 100)
			c.awaitReads(t, 1000)
			third.leave()
			if again := c.repeated(); len(again) > 0 {
				t.Errorf("read more than once: %q", again)
			}
			p.Stop(t)
		})
	}
}

// TestConsumerGroupSurvivesKill kills the broker in the middle: the members go on where they were.
func TestConsumerGroupSurvivesKill(t *testing.T) {
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, quickHeartbeats)
	createTopic(t, addr, "numbers", 4, nil)
	c := newTally()
	startReader(t, addr, "numbers", c, kgo.ServerSideBalancer())
	startReader(t, addr, "numbers", c, kgo.ServerSideBalancer())
	produceNumbers(t, addr, "numbers", 0, 400)
	c.awaitReads(t, 400)
	c.await(t, "400 commits", func() bool { return c.committed == 400 })
	p.Kill()
	startProcess(t, data, addr, quickHeartbeats)
	produceNumbers(t, addr, "numbers", 400, 400)
	c.awaitReads(t, 800)
	if again := c.repeated(); len(again) > 0 {
		t.Errorf("read more than once: %q", again)
	}
}
