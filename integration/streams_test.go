package integration

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	streamsRoundsEnv = "MINIBROKER_STREAMS_ROUNDS" // default 3; with it, Apache Kafka has its turn, too
	streamsSeedEnv   = "MINIBROKER_STREAMS_SEED"   // default 1
	streamsOrders    = 400                         // in each round
)

// streamsRun is one run of testdata/java/Streams.java, which it and the broker are killed in.
type streamsRun struct {
	t      *testing.T
	shop   *shop
	rand   *rand.Rand
	start  func() *Process
	broker *Process
	addr   string
	apps   []*pipelineClient
	kills  map[string]int
	feeder *kgo.Client
	output *streamsOutput
	fed    int64 // records of orders and payments
}

// TestStreams has a Kafka Streams application with joins, windows, repartition and changelog topics count what a shop
// sells, exactly once, while it and the broker are killed with SIGKILL. Its output must be what the input says.
func TestStreams(t *testing.T) {
	rounds, seed := envInt(t, streamsRoundsEnv, 3), uint64(envInt(t, streamsSeedEnv, 1))
	brokers := []string{"minibroker"}
	if os.Getenv(streamsRoundsEnv) != "" {
		brokers = append(brokers, "Apache Kafka")
	}
	frameworkLibs(t) // skips before a broker is started
	sums := map[string]bool{}
	for _, name := range brokers {
		t.Run(name, func(t *testing.T) {
			x := newStreamsRun(t, name, seed)
			for round := range rounds {
				x.round(round)
			}
			lines := x.finish()
			sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
			sums[sum] = true
			t.Logf("%d orders, %d payments, kills %v: %d lines of output, SHA-256 %s", len(x.shop.orders), len(x.shop.payments), x.kills, len(lines), sum)
		})
	}
	if len(sums) > 1 {
		t.Errorf("the outputs differ: %v", sums)
	}
}

func newStreamsRun(t *testing.T, broker string, seed uint64) *streamsRun {
	t.Helper()
	x := &streamsRun{t: t, shop: newShop(seed), rand: rand.New(rand.NewPCG(seed, 3)), addr: freeAddr(t), kills: map[string]int{}}
	data := filepath.Join(t.TempDir(), "data")
	settings := []string{"group.min.session.timeout.ms=500", "group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=2",
		"transaction.state.log.num.partitions=2", "log.initial.task.delay.ms=20"}
	x.start = func() *Process { return startProcess(t, data, x.addr, settings) }
	if broker == "Apache Kafka" {
		x.start().Stop(t) // formats
		x.start = func() *Process { return startKafka(t, []string{data}, x.addr, settings...) }
	}
	x.broker = x.start()
	for topic, partitions := range map[string]int32{"orders": 3, "payments": 3, "users": 3, "items": 1} {
		createTopic(t, x.addr, topic, partitions, nil)
	}
	for topic := range streamsTopics() {
		createTopic(t, x.addr, topic, 2, nil)
	}
	x.feeder = newClient(t, x.addr, kgo.ProducerLinger(0), kgo.RecordRetries(1<<30), kgo.MetadataMinAge(20*time.Millisecond))
	x.feed(x.shop.tables())
	x.output = newStreamsOutput(t, x.addr, x.shop.opened)
	classes := compiled(t, "Streams")
	for n := range 2 {
		state := t.TempDir()
		app := &pipelineClient{name: fmt.Sprintf("application %d", n+1), done: make(chan struct{}), command: func() *exec.Cmd {
			return javaCommand(t, classes, "Streams", x.addr, state)
		}}
		x.apps = append(x.apps, app)
	}
	if os.Getenv(streamsRoundsEnv) == "" {
		x.apps = x.apps[:1] // one does for a look
	}
	for _, app := range x.apps {
		go app.run()
		t.Cleanup(app.stop)
	}
	return x
}

// feed writes records; it returns when they are acknowledged.
func (x *streamsRun) feed(records []*kgo.Record) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), 2*patience)
	defer cancel()
	if err := x.feeder.ProduceSync(ctx, records...).FirstErr(); err != nil {
		x.t.Fatalf("feed the application: %v", err)
	}
	for _, r := range records {
		if r.Topic == "orders" || r.Topic == "payments" {
			x.fed++
		}
	}
}

// round sells, waits until a part of it is through, and kills.
func (x *streamsRun) round(round int) {
	x.t.Helper()
	before := x.output.read()
	x.feed(x.shop.sell(streamsOrders))
	enough := before + 1 + x.rand.IntN(streamsOrders)
	x.await(fmt.Sprintf("round %d: more than %d records of output", round, enough), func() bool { return x.output.read() > enough })
	<-time.After(time.Duration(x.rand.IntN(100_000)) * time.Microsecond) // the moment is random on purpose
	app := x.apps[x.rand.IntN(len(x.apps))]
	kind := round % 3
	if round >= 3 {
		kind = x.rand.IntN(4)
	}
	if kind == 0 || kind == 2 {
		app.kill()
		x.kills[app.name]++
	}
	if kind == 1 || kind == 2 {
		x.broker.Kill()
		x.kills["broker"]++
		x.broker = x.start()
	}
	if kind == 3 {
		for _, app := range x.apps {
			app.kill()
			x.kills[app.name]++
		}
	}
}

func (x *streamsRun) await(what string, cond func() bool) {
	x.t.Helper()
	if await(2*patience, cond) {
		return
	}
	for _, app := range x.apps {
		app.kill() // so that what it said is there
	}
	for _, app := range x.apps {
		app.stop()
		app.mu.Lock()
		x.t.Logf("%s: %d processes ended by themselves:\n%s", app.name, app.ended, app.said.String())
		app.mu.Unlock()
	}
	x.t.Fatalf("%s: not within %v; kills %v", what, 2*patience, x.kills)
}

// finish closes all windows, waits for the output and returns it when it is what the input says.
func (x *streamsRun) finish() []string {
	x.t.Helper()
	want, ticks := x.shop.expected(), int64(0)
	// A tick in a repartition topic closes windows for all partitions of the input, so that they must have been read.
	early := slices.DeleteFunc(slices.Clone(want), closes)
	if !await(2*patience, func() bool {
		x.output.read()
		return slices.Equal(slices.DeleteFunc(x.output.lines(), closes), early)
	}) {
		x.compare(early)
		x.await("what comes before windows close", func() bool { return false })
	}
	ok := await(patience, func() bool {
		ticks++
		x.feed(x.shop.tick(ticks))
		x.output.read()
		return len(x.output.lines()) >= len(want) && slices.Equal(x.output.lines(), want)
	})
	if !ok {
		x.compare(want)
		x.await("the output of the input", func() bool { return false })
	}
	// Nothing more may come: the application has read all, and committed it.
	x.await("the commit of all input", func() bool {
		orders, err := committedSum(x.addr, "shop", "orders")
		payments, again := committedSum(x.addr, "shop", "payments")
		return err == nil && again == nil && orders+payments == x.fed
	})
	for _, app := range x.apps {
		app.stop()
		x.t.Logf("%s: %d processes ended by themselves\n%s", app.name, app.ended, app.said.String())
	}
	x.output.read()
	x.compare(want)
	x.broker.end(x.t)
	verifyStore(x.t, x.broker.Data)
	return want
}

// closes tells whether a line of output comes when a window is closed.
func closes(line string) bool {
	return strings.HasPrefix(line, "final-counts ")
}

// compare tells where the output is not what was expected.
func (x *streamsRun) compare(want []string) {
	x.t.Helper()
	got := x.output.lines()
	told := 0
	for n, m := 0, 0; (n < len(got) || m < len(want)) && told < 20; {
		switch {
		case m == len(want) || n < len(got) && got[n] < want[m]:
			x.t.Errorf("not expected: %s", got[n])
			n, told = n+1, told+1
		case n == len(got) || got[n] > want[m]:
			x.t.Errorf("missing: %s", want[m])
			m, told = m+1, told+1
		default:
			n, m = n+1, m+1
		}
	}
}

// streamsTopics are the topics of output; true are those that are tables, where the newest value of a key counts.
func streamsTopics() map[string]bool {
	return map[string]bool{"revenue": true, "final-counts": false, "sessions": true, "paid": false, "paid-by-user": true}
}

// streamsOutput collects the committed output.
type streamsOutput struct {
	cl     *kgo.Client
	ctx    context.Context
	opened int64
	count  int
	rows   []string                     // of topics that are no tables
	tables map[string]map[string]string // by topic and key
}

func newStreamsOutput(t *testing.T, addr string, opened int64) *streamsOutput {
	o := &streamsOutput{ctx: t.Context(), opened: opened, tables: map[string]map[string]string{}}
	from := map[string]map[int32]kgo.Offset{}
	for topic, table := range streamsTopics() {
		from[topic] = map[int32]kgo.Offset{0: kgo.NewOffset().AtStart(), 1: kgo.NewOffset().AtStart()}
		if table {
			o.tables[topic] = map[string]string{}
		}
	}
	o.cl = newClient(t, addr, kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.MetadataMinAge(20*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	return o
}

// read takes what there is and returns how many records there were in all.
func (o *streamsOutput) read() int {
	for {
		ctx, cancel := context.WithTimeout(o.ctx, 300*time.Millisecond)
		records := o.cl.PollFetches(ctx).Records() // errors are those of a broker that was killed
		cancel()
		if len(records) == 0 {
			return o.count
		}
		for _, r := range records {
			o.take(r)
		}
	}
}

// streamsTime is a moment in a key.
var streamsTime = regexp.MustCompile(`\d{13}`)

func (o *streamsOutput) take(r *kgo.Record) {
	if strings.HasPrefix(string(r.Key), "tick-") {
		return
	}
	o.count++
	key := streamsTime.ReplaceAllStringFunc(string(r.Key), func(at string) string {
		n, _ := strconv.ParseInt(at, 10, 64) // thirteen digits always are a number
		return strconv.FormatInt(n-o.opened, 10)
	})
	table := o.tables[r.Topic]
	switch {
	case table == nil:
		o.rows = append(o.rows, fmt.Sprintf("%s %s %s", r.Topic, key, r.Value))
	case r.Value == nil:
		delete(table, key)
	default:
		table[key] = string(r.Value)
	}
}

// lines are all output in the form of shop.expected.
func (o *streamsOutput) lines() []string {
	lines := slices.Clone(o.rows)
	for topic, table := range o.tables {
		for key, value := range table {
			lines = append(lines, fmt.Sprintf("%s %s %s", topic, key, value))
		}
	}
	slices.Sort(lines)
	return lines
}
