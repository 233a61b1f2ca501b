package main

import (
	"strings"
	"testing"
)

// A test that Apache Kafka's run did not come to is not said to pass there.
func TestNotPassingTellsWhatWasNotReached(t *testing.T) {
	mini := outcome{Passed: 1, Failed: map[string]string{"hung before": "words", "passed": "words", "failed": "words"}}
	kafka := outcome{Passed: 2, Failed: map[string]string{"failed": "words"}}
	given := []reason{
		{"s", "hung before", unreachedThere + "why"},
		{"s", "passed", "why not"},
		{"s", "failed", unreachedThere + "why on both"},
	}
	text := notPassing("s", mini, kafka, given)
	for _, row := range []string{
		"| `hung before` | fails | not run | why |\n",
		"| `passed` | fails | passes | why not |\n",
		"| `failed` | fails | fails | why on both |\n",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("no row %q in\n%s", row, text)
		}
	}
}
