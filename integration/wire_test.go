package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/integration/wire"
)

// wireGroups are the scripts of each of the brokers that are asked side by side, since most of the time is waiting. Some
// answers need what an earlier script left behind.
func wireGroups() [][]string {
	return [][]string{{"1*.txt"}, {"20*.txt", "80*.txt"}, {"30*.txt"}, {"31*.txt"}, {"40*.txt"}, {"41*.txt"}, {"50*.txt"}, {"60*.txt"}}
}

// TestWire sends 1,400 requests of every client API, right and wrong ones, and compares each answer with the one that
// Apache Kafka 4.4.0 gave. Every difference has a row in README's table. Some answers tell how long they took: what
// differs on a machine that is busy has a second try on a new broker.
func TestWire(t *testing.T) {
	groups := wireGroups()
	results := askAll(t, groups)
	for i, r := range results {
		if len(r.Unexplained) > 0 {
			t.Logf("once more: %v", groups[i])
			results[i] = askAll(t, groups[i:i+1])[0]
		}
	}
	var all wire.Result
	for _, r := range results {
		all.Same += r.Same
		all.Explained += r.Explained
		for _, text := range r.Unexplained {
			t.Error(text)
		}
	}
	t.Logf("%d answers are Kafka's, %d differ as README says", all.Same, all.Explained)
	if want := bytes.Count(kafkasAnswers(t), []byte("\n")); all.Same+all.Explained != want {
		t.Errorf("%d answers of Kafka were compared, there are %d", all.Same+all.Explained, want)
	}
}

// askAll runs each group of scripts on a broker of its own, side by side, and compares the answers with Kafka's.
func askAll(t *testing.T, groups [][]string) []wire.Result {
	t.Helper()
	results := make([]wire.Result, len(groups))
	var wg sync.WaitGroup
	for i, patterns := range groups {
		scripts, err := wire.Scripts(os.DirFS(filepath.Join("testdata", "wire", "scripts")), patterns...)
		if err != nil {
			t.Fatal(err)
		}
		addr, controller := freeAddr(t), freeAddr(t)
		listeners := "PLAINTEXT://" + addr + ",CONTROLLER://" + controller
		data := t.TempDir()
		p := startArgs(t, data, addr, []string{"--data-dir", data, "--override", "listeners=" + listeners,
			"--override", "advertised.listeners=PLAINTEXT://" + addr})
		t.Cleanup(func() { p.Stop(t) })
		if patterns[0] != "40*.txt" {
			burnProducerID(t, addr)
		}
		wg.Go(func() { results[i] = compareAnswers(t, addr, scripts) })
	}
	wg.Wait()
	return results
}

// compareAnswers runs scripts and compares their answers with Kafka's.
func compareAnswers(t *testing.T, addr string, scripts []wire.Script) wire.Result {
	var got bytes.Buffer
	if err := wire.Record(addr, scripts, &got); err != nil {
		t.Error(err)
	}
	result, err := wire.Compare(bytes.NewReader(kafkasAnswers(t)), &got, scripts, wireDifferences())
	if err != nil {
		t.Error(err)
	}
	return result
}

// burnProducerID takes the first producer id of a broker, which is 0 and left out of recordings for that.
func burnProducerID(t *testing.T, addr string) {
	t.Helper()
	c, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Request(kmsg.NewPtrInitProducerIDRequest(), 4); err != nil {
		t.Fatal(err)
	}
}

// kafkasAnswers is the recording of Apache Kafka 4.4.0.
func kafkasAnswers(t *testing.T) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "wire", "kafka-4.4.0.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	answers, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// wireDifferences are the differences that README's table explains; the reasons are its first column.
func wireDifferences() []wire.Allowed {
	var all []wire.Allowed
	for _, d := range []struct{ reason, pattern string }{
		{"share and streams groups", `^(api-versions|wire)/[^ ]* resp\.ApiKeys\[\d+\]`},
		{"documentation in DescribeConfigs", `\.Documentation: `},
		{"fetch answers", `\.RecordBatches\[\d+\]: "cut: \d+ bytes" \| nothing$`},
		{"Produce with null records", `^produce/null-records#\d `},
		{"heartbeat interval of consumer groups", `^consumer-group-heartbeat/.* resp\.HeartbeatIntervalMillis: 5000 \| `},
		{"answers that say not yet", `^transaction/fencing#2[45] resp\.ErrorCode: "51 CONCURRENT_TRANSACTIONS" \| "90 PRODUCER_FENCED"$`},
	} {
		all = append(all, wire.Allowed{Pattern: regexp.MustCompile(d.pattern), Reason: d.reason})
	}
	return all
}

// TestWireReasonsAreInReadme: what explains a difference stands in README's table.
func TestWireReasonsAreInReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range wireDifferences() {
		if !bytes.Contains(readme, fmt.Appendf(nil, "\n| %s |", d.Reason)) {
			t.Errorf("README's table of differences has no row %q", d.Reason)
		}
	}
}
