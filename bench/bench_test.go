package main

import (
	"strings"
	"testing"
)

// TestJudge: what holds and what does not, for each kind of aim.
func TestJudge(t *testing.T) {
	r := &results{Peers: []string{"Kafka", "minibroker"}}
	r.add(figure{Case: "c", Name: "time", Good: less}, "Kafka", 100)
	r.add(figure{Case: "c", Name: "time", Good: less}, "minibroker", 20)
	r.add(figure{Case: "c", Name: "rate", Good: more}, "Kafka", 100)
	r.add(figure{Case: "c", Name: "rate", Good: more}, "minibroker", 350)
	r.add(figure{Case: limitCase, Name: "l", Good: more}, limitPeer, 700)
	for _, test := range []struct {
		a       aim
		own     float64
		reached string
		holds   bool
	}{
		{aim{name: "c", figure: "time", times: 5}, 20, "5.00 times", true},
		{aim{name: "c", figure: "time", times: 6}, 20, "5.00 times", false},
		{aim{name: "c", figure: "rate", times: 3}, 350, "3.50 times", true},
		{aim{name: "c", figure: "rate", times: 4}, 350, "3.50 times", false},
		{aim{name: "c", figure: "rate", limit: "l", part: 0.5}, 350, "50 %", true},
		{aim{name: "c", figure: "rate", limit: "l", part: 0.6}, 350, "50 %", false},
		{aim{name: "c", figure: "time", most: 10}, 20, "20.0", false},
		{aim{name: "c", figure: "time", most: 30}, 20, "20.0", true},
		{aim{name: "c", figure: "rate", limit: "unknown", part: 0.6}, 350, "", false},
	} {
		if _, reached, _, holds := r.judge(test.a, test.own); reached != test.reached || holds != test.holds {
			t.Errorf("%+v: reached %q, holds %v", test.a, reached, holds)
		}
	}
	if _, _, beside, _ := r.judge(aim{name: "c", figure: "rate", times: 3, limit: "l"}, 350); beside != "Kafka 100, the machine 700" {
		t.Errorf("beside: %q", beside)
	}
	r.none(outcome{Case: "c", Peer: "Kafka", Reason: "lost a record", Failed: true})
	if _, ok := r.of("c", "time", "Kafka"); ok {
		t.Error("a broker that failed in one round has a figure from the others")
	}
}

// TestGrew: a series may swing, but its last third must not lie above the middle one by more than is allowed.
func TestGrew(t *testing.T) {
	samples := func(at func(k int) float64) (all []sample) {
		for k := range 90 {
			all = append(all, sample{"x": at(k)})
		}
		return all
	}
	v := series{name: "x", part: 0.05, noise: 2}
	for _, test := range []struct {
		what string
		at   func(k int) float64
		grew bool
	}{
		{"level", func(int) float64 { return 100 }, false},
		{"warms up", func(k int) float64 { return min(100, float64(k)*4) }, false},
		{"saw", func(k int) float64 { return 100 + float64(k%10)*5 }, false},
		{"one peak at the end", func(k int) float64 { return 100 + float64(k/89)*500 }, false},
		{"slope", func(k int) float64 { return 100 + float64(k) }, true},
		{"slope under a saw", func(k int) float64 { return 100 + float64(k) + float64(k%7)*5 }, true},
	} {
		if parts := thirds(samples(test.at), "x"); v.grew(parts) != test.grew {
			t.Errorf("%s: thirds %v, grew %v", test.what, parts, !test.grew)
		}
	}
}

// TestCompare: a benchmark that allocates more often is named, one that is slower is not: a machine may be busy.
func TestCompare(t *testing.T) {
	c := &comparison{count: 2, now: map[string]*benchResult{}, then: map[string]*benchResult{}}
	for range 2 {
		c.read(c.then, "log", "goos: linux\nBenchmarkAppend/100-2   \t 100\t 200 ns/op\t 5.5 MB/s\t 16 B/op\t 1 allocs/op\nBenchmarkRead-2 10 7 ns/op\nBenchmarkGone 1 1 ns/op 0 B/op 0 allocs/op\n")
		c.read(c.now, "log", "BenchmarkAppend/100-2 100 100 ns/op 5.5 MB/s 32 B/op 2 allocs/op\nBenchmarkRead-2 10 28 ns/op\nBenchmarkNew 1 1 ns/op 0 B/op 0 allocs/op\nPASS\n")
	}
	text, err := c.report("HEAD^")
	if err == nil || err.Error() != "log Append/100: 2.00 allocations instead of 1.00" {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"| log Append/100 | 200 | 100 | 0.500 | 16.0 | 32.0 | 1.00 | 2.00 |", "| log Read | 7.00 | 28.0 | 4.00 | – | – | – | – |", "2 benchmarks, 2 runs", "is 1.41 times"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
