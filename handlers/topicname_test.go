package handlers

import (
	"strings"
	"testing"
)

func TestCheckTopicName(t *testing.T) {
	long := strings.Repeat("x", 250)
	const strange = " contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	for name, want := range map[string]string{
		"":                       "the empty string is not allowed",
		".":                      "'.' is not allowed",
		"..":                     "'..' is not allowed",
		long:                     "the length of '" + long + "' is longer than the max allowed length 249",
		"bad name":               "'bad name'" + strange,
		"größe":                  "'größe'" + strange,
		"a/b":                    "'a/b'" + strange,
		"a\x00b":                 "'a\x00b'" + strange,
		strings.Repeat("y", 249): "",
		"...":                    "",
		"Az09._-":                "",
	} {
		got := ""
		if err := checkTopicName(name); err != nil {
			got = err.Error()
		}
		if want != "" {
			want = "Topic name is invalid: " + want
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestCollides(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.b", "a_b", true}, {"a.b", "a.b", true}, {"a.b", "a-b", false}, {"a.b", "a.bc", false}, {"", "", true},
	} {
		if got := collides(c.a, c.b); got != c.want {
			t.Errorf("collides(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

func TestSoftwareName(t *testing.T) {
	for name, want := range map[string]bool{
		"wire": true, "a": true, "a-b.c": true, "1.0": true,
		"": false, "a b": false, "-wire": false, "wire-": false, "1.": false, ".": false, "ä": false,
	} {
		if softwareName(name) != want {
			t.Errorf("softwareName(%q) = %v", name, !want)
		}
	}
}
