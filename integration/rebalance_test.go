package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// quickSessions lets members that crashed be missed soon.
var quickSessions = []string{
	"group.min.session.timeout.ms=1000", "group.consumer.min.session.timeout.ms=1000", "group.consumer.session.timeout.ms=3000",
	"group.initial.rebalance.delay.ms=0", "group.consumer.min.heartbeat.interval.ms=100", "group.consumer.heartbeat.interval.ms=300",
}

// TestMembersComeAndGo lets members of each client library come, crash, return and leave while records are written: each
// record is read once in the group, by whom it may be.
func TestMembersComeAndGo(t *testing.T) {
	for _, kind := range memberKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			addr := freeAddr(t)
			kind.command(t, addr, "numbers", "readers", kind.protocol, "") // skips before a broker is started
			p := startProcess(t, filepath.Join(t.TempDir(), "data"), addr, quickSessions)
			createTopic(t, addr, "numbers", 4, nil)
			g := memberGroup{t: t, kind: kind, addr: addr, tally: newTally()}
			g.run()
			p.Stop(t)
		})
	}
}

// memberGroup is a group of members in processes of their own.
type memberGroup struct {
	t     *testing.T
	kind  memberKind
	addr  string
	tally *tally
	sent  int
}

func (g *memberGroup) start(n int) *member {
	g.t.Helper()
	instance := ""
	if g.kind.static {
		instance = fmt.Sprint("i", n)
	}
	return startMember(g.t, g.kind.command(g.t, g.addr, "numbers", "readers", g.kind.protocol, instance), g.tally)
}

// produce writes records and waits until the group has read and committed them all.
func (g *memberGroup) produce(count int) {
	g.t.Helper()
	produceNumbers(g.t, g.addr, "numbers", g.sent, count)
	g.sent += count
	g.tally.awaitReads(g.t, g.sent)
	awaitOffsets(g.t, g.addr, "readers", g.sent)
}

// produceUntil writes records until a member has read some of them.
func (g *memberGroup) produceUntil(m *member) {
	g.t.Helper()
	deadline := time.Now().Add(2 * patience)
	for m.count() == 0 {
		if time.Now().After(deadline) {
			g.t.Fatalf("a member that joined reads nothing of %d records", g.sent)
		}
		g.produce(20)
	}
}

func (g *memberGroup) run() {
	g.t.Helper()
	first := g.start(1)
	g.produce(100)
	second := g.start(2)
	g.produceUntil(second)
	second.kill()
	g.produce(100) // the first goes on with all of it when the second is missed
	third := g.start(2)
	g.produceUntil(third)
	first.leave(g.t)
	g.produce(100)
	third.leave(g.t)
	if again := g.tally.repeated(); len(again) > 0 {
		slices.Sort(again)
		g.t.Errorf("of %d records, read more than once: %q", g.sent, again)
	}
}
