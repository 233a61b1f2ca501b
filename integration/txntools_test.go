package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// recordToolsEnv has the tests that compare tools and admin clients start Apache Kafka and record what they print against it.
const recordToolsEnv = "MINIBROKER_RECORD_TOOLS"

// transactionRuns are the runs of kafka-transactions.sh, in order. Partition 1 of topic orders has two hanging
// transactions, from offsets 3 and 5.
var transactionRuns = []string{
	"list",
	"list|--transactional-id-pattern|.*ed",
	"list|--transactional-id-pattern|(",
	"list|--duration-filter|3600000",
	"describe|--transactional-id|committed",
	"describe|--transactional-id|aborted",
	"describe|--transactional-id|open",
	"describe|--transactional-id|idle",
	"describe|--transactional-id|nobody",
	"describe-producers|--topic|orders|--partition|0",
	"describe-producers|--topic|orders|--partition|1",
	"describe-producers|--topic|orders|--partition|0|--broker-id|1",
	"describe-producers|--topic|orders|--partition|0|--broker-id|7",
	"find-hanging",
	"find-hanging|--broker-id|1",
	"find-hanging|--broker-id|7",
	"find-hanging|--topic|orders",
	"find-hanging|--topic|orders|--partition|0",
	"find-hanging|--topic|orders|--partition|1",
	"find-hanging|--topic|orders|--partition|1|--max-transaction-timeout|300",
	"find-hanging|--topic|nothing",
	"find-hanging|--partition|1",
	"abort|--topic|orders|--partition|1",
	"abort|--topic|orders|--partition|1|--start-offset|4",
	"abort|--topic|orders|--partition|1|--start-offset|3",
	"find-hanging|--broker-id|1",
	"abort|--topic|orders|--partition|1|--producer-id|PRODUCER|--producer-epoch|0|--coordinator-epoch|0",
	"find-hanging|--broker-id|1",
	"describe-producers|--topic|orders|--partition|1",
	"forceTerminateTransaction|--transactionalId|open",
	"describe|--transactional-id|open",
	"forceTerminateTransaction|--transactionalId|nobody",
	"list",
}

// prepareTransactions leaves transactions in many states and two that hang: batches of which no coordinator knows.
func prepareTransactions(t *testing.T, addr string) (hanging int64) {
	t.Helper()
	createTopic(t, addr, "orders", 2, nil)
	orders := place{"orders", 0}
	for _, id := range []string{"committed", "aborted"} {
		x := newTransactor(t, addr, id, false)
		x.begin()
		x.write(orders, "a", "b")
		x.end(id == "committed")
	}
	newTransactor(t, addr, "idle", false).begin()
	open := newTransactor(t, addr, "open", false)
	open.begin()
	open.write(orders, "c")
	open.write(place{"orders", 1}, "c")
	// Two batches that come after the end of their transaction, long ago.
	for _, id := range []string{"late", "later"} {
		x := newTransactor(t, addr, id, false)
		x.stamp = time.Now().Add(-2 * time.Hour).UnixMilli()
		x.begin()
		x.write(place{"orders", 1}, "d")
		x.end(true)
		x.must("a stray batch", func() int16 { return x.send(place{"orders", 1}, "e") })
		hanging = x.producer.ID
	}
	return hanging
}

// transactionNoise is what differs from run to run of this tool: times, and columns that are as wide as they are.
var transactionNoise = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b1\d{12}\b`), "TIME"},
	{regexp.MustCompile(`(\t900000 *\tTIME *\t)\d+`), "${1}DURATION"},
	{regexp.MustCompile(`(\tTIME *\t)12\d\b`), "${1}MINUTES"},
	{regexp.MustCompile(` +(\t|\n)`), "$1"},
}

func transactionOutput(text string) string {
	text = withoutNoise(text, "\x00", "\x00")
	for _, n := range transactionNoise {
		text = n.pattern.ReplaceAllString(text, n.instead)
	}
	return text
}

// TestTransactionTools runs kafka-transactions.sh and compares what it prints and how it ends with what it prints against
// Apache Kafka 4.4.0, where the same transactions were made.
func TestTransactionTools(t *testing.T) {
	kafkaLibs(t) // skips before a broker is started
	settings := []string{"transaction.partition.verification.enable=false", "transaction.state.log.num.partitions=3"}
	data, addr := t.TempDir(), freeAddr(t)
	p := startProcess(t, data, addr, settings)
	record := os.Getenv(recordToolsEnv) != ""
	if record {
		p.Stop(t)
		p = startKafka(t, []string{data}, addr, settings...)
	}
	hanging := prepareTransactions(t, addr)
	// What is not there is asked for again and again; not for Kafka's whole minute.
	quick := filepath.Join(t.TempDir(), "quick.properties")
	if err := os.WriteFile(quick, []byte("default.api.timeout.ms=5000\nrequest.timeout.ms=4000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, run := range transactionRuns {
		run = strings.ReplaceAll(run, "PRODUCER", fmt.Sprint(hanging))
		commands.WriteString(toolLine("TransactionsCommand|--command-config|"+quick+"|"+run, addr, ""))
	}
	printed := strings.Split(java(t, commands.String(), filepath.Join("testdata", "java", "Tools.java")), ">>> ")[1:]
	if len(printed) != len(transactionRuns) {
		t.Fatalf("%d runs of %d; the last one printed:\n%s", len(printed), len(transactionRuns), printed[len(printed)-1])
	}
	if record {
		p.end(t)
		var text strings.Builder
		for n, run := range transactionRuns {
			text.WriteString("#### " + run + "\n" + transactionOutput(printed[n]))
		}
		if err := os.WriteFile(filepath.Join("testdata", "tools", "transactions.txt"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for n, r := range readToolRuns(t, "transactions.txt") {
		if r.command != transactionRuns[n] {
			t.Fatalf("run %d is %s, recorded was %s", n, transactionRuns[n], r.command)
		}
		if got := transactionOutput(printed[n]); got != r.printed {
			t.Errorf("%s\nprinted:\n%s\nagainst Kafka:\n%s", r.command, got, r.printed)
		}
	}
	t.Logf("%d runs of kafka-transactions.sh compared", len(transactionRuns))
	p.Stop(t)
}
