package main

import (
	"reflect"
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
