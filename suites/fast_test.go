package main

import (
	"maps"
	"reflect"
	"slices"
	"testing"
)

// TestWorseThan holds the fast part to what it may forgive: what fails in results/, nothing else.
func TestWorseThan(t *testing.T) {
	of := func(passed int, failed, skipped map[string]string) outcome { return outcome{passed, failed, skipped} }
	r := result{Fast: 4, Brokers: map[string]outcome{
		"minibroker": of(2, map[string]string{"A": "old words"}, map[string]string{"B": "needs two"}),
		"kafka":      of(1, map[string]string{"C": "no"}, nil),
	}}
	for _, c := range []struct {
		name string
		got  outcome
		want map[string]string
	}{
		{"as recorded", of(2, map[string]string{"A": "new words"}, map[string]string{"B": "needs two"}), map[string]string{}},
		{"better", of(4, nil, nil), map[string]string{}},
		{"fails", of(2, map[string]string{"C": "now"}, map[string]string{"B": "needs two"}), map[string]string{"C": "now"}},
		{"skips", of(3, nil, map[string]string{"D": "gone"}), map[string]string{"D": "gone"}},
		{"ends early", of(3, nil, nil), map[string]string{"(the suite)": "only 3 of 4 tests ran"}},
	} {
		if got := worseThan(r, c.got); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRetry holds what a second try may forgive: what flaky.txt knows, and one test more that passes three times by itself.
func TestRetry(t *testing.T) {
	s := suite{Name: "s", Alone: func(test string) []string { return []string{test} }}
	flaky := []reason{{suite: "s", test: "Known", why: "its own race"}}
	for _, c := range []struct {
		name  string
		worse []string
		fails map[string]int // the tries at which a test fails again, as bits
		tries map[string]int
		left  []string
	}{
		{"known", []string{"Known"}, nil, map[string]int{"Known": 1}, nil},
		{"known, and passes at last", []string{"Known"}, map[string]int{"Known": 0b011}, map[string]int{"Known": 3}, nil},
		{"known, and fails always", []string{"Known"}, map[string]int{"Known": 0b111111}, map[string]int{"Known": knownTries}, []string{"Known"}},
		{"known, with another that fails beside it", []string{"Known"}, map[string]int{"Known": 0b01, "Beside": 0b11}, map[string]int{"Known": 2}, nil},
		{"unknown", []string{"A"}, nil, map[string]int{"A": 3}, nil},
		{"unknown, and fails at last", []string{"A"}, map[string]int{"A": 0b100}, map[string]int{"A": 3}, []string{"A"}},
		{"two unknown", []string{"A", "B", "Known"}, nil, map[string]int{"Known": 1}, []string{"A", "B"}},
		{"tests are missing", []string{missing}, nil, map[string]int{}, []string{missing}},
	} {
		worse, tries := map[string]string{}, map[string]int{}
		for _, test := range c.worse {
			worse[test] = "words"
		}
		err := retry(s, result{}, worse, flaky, func(more []string) (outcome, error) {
			test := more[0]
			tries[test]++
			got := outcome{Passed: 1, Failed: map[string]string{}}
			for name, tries := range map[string]int{test: tries[test], "Beside": tries[test]} {
				if c.fails[name]>>(tries-1)&1 == 1 {
					got.Failed[name] = "words"
				}
			}
			return got, nil
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if left := slices.Sorted(maps.Keys(worse)); !slices.Equal(left, c.left) || !reflect.DeepEqual(tries, c.tries) {
			t.Errorf("%s: %v is left after %v, want %v after %v", c.name, left, tries, c.left, c.tries)
		}
	}
}

// TestAlone names single tests as their runners want them.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		got  []string
		want string
	}{
		{goAlone("TestA/b.c/d"), `TESTS=^TestA$/^b\.c$/^d$`},
		{pythonAlone("test.integration.test_x.TestY.test_z"), "FLAGS=-k test_z"},
		{pythonAlone("test.integration.test_x.test_z[none-1.0]"), "FLAGS=-k test_z"},
	} {
		if !reflect.DeepEqual(c.got, []string{c.want}) {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
