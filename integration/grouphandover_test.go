package integration

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// groupHandover is groups whose members live on while their broker becomes another one.
type groupHandover struct {
	t      *testing.T
	addr   string
	dirs   []string
	tally  map[string]*tally // by group
	sent   int
	broker *Process
}

// TestGroupsHandOver lets members of groups of both protocols live through the change from minibroker to Apache Kafka on
// the same directory and port, and back: with clean stops and with kill -9, as often as make handover says, and else there
// and back once. No committed offset is lost and no record read twice.
func TestGroupsHandOver(t *testing.T) {
	kafkaLibs(t)
	h := &groupHandover{t: t, addr: freeAddr(t), dirs: []string{filepath.Join(t.TempDir(), "data")}, tally: map[string]*tally{}}
	h.minibroker()
	createTopic(t, h.addr, "numbers", 4, nil)
	h.members()
	h.check("minibroker")
	h.broker.StopDirs(t, h.dirs)
	h.kafka()
	h.check("Kafka after a clean stop")
	for range envInt(t, roundsEnv, 0) {
		h.broker.end(t)
		h.minibroker()
		h.check("minibroker after a clean stop")
		h.broker.Kill()
		h.kafka()
		h.check("Kafka after kill -9")
	}
	h.broker.Kill()
	h.minibroker()
	h.check("minibroker after kill -9")
	h.broker.Kill() // before the members go, who else write on for a while
	verifyDirs(t, h.dirs)
}

func (h *groupHandover) settings() []string {
	return append([]string{"offsets.topic.num.partitions=2"}, quickSessions...)
}

func (h *groupHandover) minibroker() {
	h.t.Helper()
	h.broker = startProcess(h.t, h.dirs[0], h.addr, h.settings())
}

func (h *groupHandover) kafka() {
	h.t.Helper()
	h.broker = startKafka(h.t, h.dirs, h.addr, h.settings()...)
}

// members starts two members of a classic and of a consumer group each, and one with librdkafka.
func (h *groupHandover) members() {
	h.t.Helper()
	for group, opt := range map[string]kgo.Opt{"classic": kgo.Balancers(kgo.CooperativeStickyBalancer()), "consumer": kgo.ServerSideBalancer()} {
		h.tally[group] = newTally()
		for range 2 {
			startReader(h.t, h.addr, "numbers", h.tally[group], kgo.ConsumerGroup(group), opt)
		}
	}
	h.tally["python"] = newTally()
	startMember(h.t, pythonMember(h.t, h.addr, "numbers", "python", "consumer", ""), h.tally["python"])
}

// check expects that what was committed is still there, writes, and expects that each group reads on.
func (h *groupHandover) check(who string) {
	h.t.Helper()
	for group := range h.tally {
		if h.sent > 0 {
			awaitOffsets(h.t, h.addr, group, h.sent)
		}
	}
	produceNumbers(h.t, h.addr, "numbers", h.sent, 200)
	h.sent += 200
	for group, c := range h.tally {
		c.awaitReads(h.t, h.sent)
		awaitOffsets(h.t, h.addr, group, h.sent)
		if again := c.repeated(); len(again) > 0 {
			h.t.Fatalf("%s: group %s read %d records more than once: %q", who, group, len(again), again)
		}
	}
	h.t.Logf("%s: %d records read once by %d groups", who, h.sent, len(h.tally))
}
