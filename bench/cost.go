package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// costRow is what a broker costs that holds so many of something.
type costRow struct {
	count                                    int
	rss, startCPU, startWall, killedCPU      float64 // MiB, ms
	idleCPU, produce, fetch, produced, files float64 // ms a second; µs a request; requests; descriptors
}

// costSizes say how much is measured at each count.
type costSizes struct {
	partitions, connections, segments []int
	requests                          int // of each kind
	settle, idle                      time.Duration
}

func fullCosts() costSizes {
	return costSizes{partitions: []int{1, 10, 100, 1000, 10_000}, connections: []int{1, 10, 100, 1000}, segments: []int{1, 10, 100},
		requests: 20_000, settle: 5 * time.Second, idle: 5 * time.Second}
}

func quickCosts() costSizes {
	return costSizes{partitions: []int{1, 20}, connections: []int{1, 10}, segments: []int{1, 3},
		requests: 200, settle: 50 * time.Millisecond, idle: 100 * time.Millisecond}
}

// costing measures one broker after the other.
type costing struct {
	trial
	sizes costSizes
}

// costCommand prints what one more of something costs.
func costCommand(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("cost", flag.ContinueOnError)
	own := ownFlags(f, "measure", "tables")
	rounds := f.Int("rounds", 3, "how often all is done; medians count")
	quick := f.Bool("quick", false, "small sizes, which show that everything works")
	if err := f.Parse(args); err != nil {
		return err
	}
	bed, err := own.bed("cost")
	if err != nil {
		return err
	}
	defer bed.remove()
	p, err := bed.finder.peer(ctx, "minibroker")
	if err != nil {
		return err
	}
	s := fullCosts()
	if *quick {
		s = quickCosts()
	}
	about := fmt.Sprintf("%s, %s. minibroker is %s; medians of %d rounds.\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine(), bed.version(), *rounds)
	text, err := costTables(ctx, &costing{trial: trial{ctx: ctx, peer: p, place: &bed.place}, sizes: s}, *rounds)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, about+text); err != nil {
		return err
	}
	return publish(*own.docs, "cost", about+text)
}

// costTables measures and writes one table for each thing.
func costTables(ctx context.Context, c *costing, rounds int) (string, error) {
	var b strings.Builder
	for _, thing := range []struct {
		name    string
		counts  []int
		measure func(int) (costRow, error)
	}{{"partitions", c.sizes.partitions, c.partitions}, {"connections", c.sizes.connections, c.connections}, {"segments", c.sizes.segments, c.segments}} {
		runs := make([][]costRow, len(thing.counts))
		for range rounds {
			for k, n := range thing.counts {
				row, err := thing.measure(n)
				c.end()
				c.instances = nil
				if err := errors.Join(err, ctx.Err()); err != nil {
					return "", fmt.Errorf("%d %s: %w", n, thing.name, err)
				}
				runs[k] = append(runs[k], row)
				fmt.Fprintf(os.Stderr, "%s  %5d %s: %+v\n", time.Now().Format(time.TimeOnly), n, thing.name, row)
			}
		}
		table(&b, costLines(thing.name, runs))
	}
	return b.String(), nil
}

// costLines make a table of medians. Its last line is how many times as much the last costs as the first.
func costLines(name string, runs [][]costRow) [][]string {
	columns := []struct {
		title string
		of    func(costRow) float64
	}{
		{"RSS at rest, MiB", func(r costRow) float64 { return r.rss }},
		{"open files", func(r costRow) float64 { return r.files }},
		{"idle CPU, ms/s", func(r costRow) float64 { return r.idleCPU }},
		{"CPU of a produce request, µs", func(r costRow) float64 { return r.produce }},
		{"CPU of a fetch request, µs", func(r costRow) float64 { return r.fetch }},
		{"CPU of a start, ms", func(r costRow) float64 { return r.startCPU }},
		{"after kill -9, ms", func(r costRow) float64 { return r.killedCPU }},
		{"start until all is served, ms", func(r costRow) float64 { return r.startWall }},
	}
	title, last := []string{name}, []string{"last / first"}
	rows := make([][]string, len(runs))
	for k, run := range runs {
		rows[k] = []string{strconv.Itoa(run[0].count)}
	}
	for _, column := range columns {
		title = append(title, column.title)
		var ends [2]float64
		for k, run := range runs {
			var values []float64
			for _, r := range run {
				values = append(values, column.of(r))
			}
			v := median(values)
			if k == 0 {
				ends[0] = v
			}
			ends[1] = v
			if v < 0 { // is not measured
				rows[k] = append(rows[k], "–")
				continue
			}
			rows[k] = append(rows[k], show(v))
		}
		if ends[0] > 0 {
			last = append(last, show(ends[1]/ends[0]))
		} else {
			last = append(last, "–")
		}
	}
	return append(append([][]string{title}, rows...), last)
}

// partitions are in topics of at most 1,000, with a record in each.
func (c *costing) partitions(n int) (costRow, error) {
	i, err := c.broker()
	if err != nil {
		return costRow{}, err
	}
	each := min(n, 1000)
	var names []string
	for len(names)*each < n {
		f := traffic{topic: fmt.Sprintf("cost-%d", len(names)), partitions: each, records: each, values: newValues(100), even: true, codec: kgo.NoCompression()}
		if err := createTopic(c.ctx, i.addr(), f.topic, each, nil); err != nil {
			return costRow{}, err
		}
		if err := f.write(c.ctx, i.addr()); err != nil {
			return costRow{}, err
		}
		names = append(names, f.topic)
	}
	return c.all(i, costRow{count: n}, 8, names, each, 1)
}

// connections use one topic, in turns; eight of them, if there are so many, at the same time.
func (c *costing) connections(n int) (costRow, error) {
	i, err := c.broker()
	if err != nil {
		return costRow{}, err
	}
	if err := c.singles(i, "cost", 1000); err != nil {
		return costRow{}, err
	}
	row := costRow{count: n, startCPU: -1, startWall: -1, killedCPU: -1}
	return c.running(i, row, n, []string{"cost"}, 1, 1000)
}

// segments are those of one partition, of one MiB each, the least that Kafka allows.
func (c *costing) segments(n int) (costRow, error) {
	i, err := c.broker()
	if err != nil {
		return costRow{}, err
	}
	if err := createTopic(c.ctx, i.addr(), "cost", 1, map[string]string{"segment.bytes": strconv.Itoa(1 << 20)}); err != nil {
		return costRow{}, err
	}
	const perSegment, perBatch = 15, 65 // batches of 65,000 bytes and a few hundred for the records' own
	f := traffic{topic: "cost", partitions: 1, records: perBatch * (perSegment*n - perSegment/2), values: newValues(1000), codec: kgo.NoCompression(),
		options: []kgo.Opt{kgo.ProducerBatchMaxBytes(66_000)}}
	if err := f.write(c.ctx, i.addr()); err != nil {
		return costRow{}, err
	}
	return c.all(i, costRow{count: n}, 8, []string{"cost"}, 1, f.records)
}

// all measures the broker as it runs, and two starts.
func (c *costing) all(i *instance, row costRow, conns int, names []string, each, offsets int) (costRow, error) {
	row, err := c.running(i, row, conns, names, each, offsets)
	if err != nil {
		return row, err
	}
	if err := i.stop(); err != nil {
		return row, err
	}
	if row.startWall, row.startCPU, err = c.startAgain(i, names, each); err != nil {
		return row, err
	}
	i.kill()
	_, row.killedCPU, err = c.startAgain(i, names, each)
	return row, err
}

// startAgain gives how long it takes until everything is served, and the broker's processor time.
func (c *costing) startAgain(i *instance, names []string, each int) (wall, cpu float64, err error) {
	if err := i.start(c.ctx); err != nil {
		return 0, 0, err
	}
	if err := awaitTopics(c.ctx, i.addr(), names, each); err != nil {
		return 0, 0, err
	}
	wall = milliseconds(time.Since(i.begun))
	u, err := i.usage()
	return wall, milliseconds(u.cpu), err
}

// running measures rest and requests. Each request is about another partition and offset, on another connection.
func (c *costing) running(i *instance, row costRow, conns int, names []string, each, offsets int) (costRow, error) {
	all, err := dialMany(i.addr(), conns)
	defer hangUp(all)
	if err != nil {
		return row, err
	}
	if err := c.rest(c.sizes.settle); err != nil {
		return row, err
	}
	s, err := i.measure(func() error { return c.rest(c.sizes.idle) })
	if err != nil {
		return row, err
	}
	row.rss, row.files, row.idleCPU = s.end.rss, s.end.files, milliseconds(s.broker)/s.wall.Seconds()
	batch, err := oneRecord(newValues(100).at(0))
	if err != nil {
		return row, err
	}
	kinds := []struct {
		cost *float64
		do   func(conn *conn, n int) error
	}{
		{&row.fetch, func(conn *conn, n int) error {
			// A step that has no divisor in common with the powers of ten reaches all.
			_, _, err := conn.batchAt(names[n/each%len(names)], int32(n%each), int64(n*7919%offsets))
			return err
		}},
		{&row.produce, func(conn *conn, n int) error {
			return conn.produce(names[n/each%len(names)], int32(n%each), batch)
		}},
	}
	for _, kind := range kinds {
		if err := c.requests(all, c.sizes.requests/10, kind.do); err != nil { // to warm up
			return row, err
		}
		s, err := i.measure(func() error { return c.requests(all, c.sizes.requests, kind.do) })
		if err != nil {
			return row, err
		}
		*kind.cost = microseconds(s.broker) / float64(c.sizes.requests)
	}
	return row, nil
}

// requests sends them over all connections in turn; at most eight wait for their answers at the same time.
func (c *costing) requests(all []*conn, total int, do func(conn *conn, n int) error) error {
	workers := min(8, len(all))
	return together(workers, func(w int) error {
		for n := w; n < total && c.ctx.Err() == nil; n += workers {
			own := (len(all) - w + workers - 1) / workers // connections that are this worker's
			if err := do(all[w+n/workers%own*workers], n*7919); err != nil {
				return err
			}
		}
		return c.ctx.Err()
	})
}
