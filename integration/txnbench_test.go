package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// txnBenchEnv has TestBenchTransactions measure for so many seconds in each run; make txnbench sets it.
const txnBenchEnv = "MINIBROKER_BENCH_TRANSACTIONS"

// txnFigures is what one run showed.
type txnFigures struct {
	broker    string
	producers int
	count     int
	perSecond float64
	p50, p99  time.Duration // of a whole transaction: begin, one record acknowledged, commit
}

// TestBenchTransactions measures transactions per second on minibroker and on Apache Kafka 4.4.0, one after the other on
// the same machine, with one and with ten producers, in several runs that take turns. It asserts nothing about speed.
// Without the environment variable it runs on minibroker alone, for a moment. What was committed is counted in any case.
func TestBenchTransactions(t *testing.T) {
	seconds := envInt(t, txnBenchEnv, 0)
	if seconds == 0 {
		benchTransactions(t, false, 100*time.Millisecond)
		return
	}
	var figures []txnFigures
	for range 3 {
		for _, kafka := range []bool{false, true} {
			figures = append(figures, benchTransactions(t, kafka, time.Duration(seconds)*time.Second)...)
		}
	}
	for _, producers := range []int{1, 10} {
		own, other := medianFigures(figures, "minibroker", producers), medianFigures(figures, "Kafka", producers)
		fmt.Fprintf(os.Stdout, "| %d | %.0f | %.0f | %.1f | %v | %v | %v | %v |\n", producers, own.perSecond, other.perSecond,
			own.perSecond/other.perSecond, own.p50, other.p50, own.p99, other.p99)
	}
}

// benchTransactions measures one broker that starts with nothing.
func benchTransactions(t *testing.T, kafka bool, duration time.Duration) (figures []txnFigures) {
	t.Helper()
	data, name := t.TempDir(), "minibroker"
	p := startProcess(t, data, freeAddr(t), nil)
	if kafka {
		p.Stop(t) // the directory is formatted
		p, name = startKafka(t, []string{data}, freeAddr(t)), "Kafka"
	}
	createTopic(t, p.Addr, "bench", 10, nil)
	total := 0
	for _, producers := range []int{1, 10} {
		warm := runTransactions(t, p.Addr, producers, duration/5)
		f := runTransactions(t, p.Addr, producers, duration)
		f.broker = name
		figures = append(figures, f)
		total += warm.count + f.count
		t.Logf("%s, %d producers: %.0f transactions/s, p50 %v, p99 %v", name, producers, f.perSecond, f.p50, f.p99)
	}
	if !kafka { // whose markers may still be on their way
		if got, _ := allCommitted(t, p.Addr, "bench", 10); len(got) != total {
			t.Errorf("%d records are committed in %d transactions", len(got), total)
		}
	}
	p.end(t)
	return figures
}

// medianFigures is the median run of a broker by throughput.
func medianFigures(all []txnFigures, broker string, producers int) txnFigures {
	own := slices.DeleteFunc(slices.Clone(all), func(f txnFigures) bool { return f.broker != broker || f.producers != producers })
	slices.SortFunc(own, func(a, b txnFigures) int { return int(a.perSecond - b.perSecond) })
	return own[len(own)/2]
}

// runTransactions lets producers commit one transaction after the other, of one record of 100 bytes each, on a
// partition of its own.
func runTransactions(t *testing.T, addr string, producers int, duration time.Duration) txnFigures {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), duration+2*patience)
	defer cancel()
	var work sync.WaitGroup
	took := make([][]time.Duration, producers)
	errs := make([]error, producers)
	began := time.Now()
	for n := range producers {
		work.Go(func() {
			took[n], errs[n] = commitAgainAndAgain(ctx, addr, n, began.Add(duration))
		})
	}
	work.Wait()
	passed := time.Since(began).Seconds()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return txnFigures{producers: producers, count: len(all), perSecond: float64(len(all)) / passed, p50: all[len(all)/2].Round(10 * time.Microsecond),
		p99: all[len(all)*99/100].Round(10 * time.Microsecond)}
}

func commitAgainAndAgain(ctx context.Context, addr string, n int, until time.Time) ([]time.Duration, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.TransactionalID(fmt.Sprintf("bench-%d", n)), kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	value := make([]byte, 100)
	var took []time.Duration
	for time.Now().Before(until) {
		began := time.Now()
		if err := cl.BeginTransaction(); err != nil {
			return nil, err
		}
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "bench", Partition: int32(n), Value: value}).FirstErr(); err != nil {
			return nil, err
		}
		if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}
