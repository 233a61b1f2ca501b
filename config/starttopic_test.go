package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseStartTopic(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a", "{a 0 map[]}"},
		{"a:3", "{a 3 map[]}"},
		{"a:3:cleanup.policy=compact,delete:retention.ms=5", "{a 3 map[cleanup.policy:compact,delete retention.ms:5]}"},
		{"a:1:leader.replication.throttled.replicas=0:1,1:1:retention.ms=7", "{a 1 map[leader.replication.throttled.replicas:0:1,1:1 retention.ms:7]}"},
		{"", "has no name"},
		{":3", "has no name"},
		{"a:x", "no number of partitions"},
		{"a:0", "no number of partitions"},
		{"a:3:compact", `"compact" is no setting`},
	} {
		got, err := ParseStartTopic(c.in)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want && (err == nil || !strings.Contains(text, c.want)) {
			t.Errorf("%q: %s, want %s", c.in, text, c.want)
		}
	}
}

func TestParseCreateTopics(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a:1:3,b:2:1:compact", "[{a 1 map[]} {b 2 map[cleanup.policy:compact]}]"},
		{" a \n b:4 , ", "[{a 0 map[]} {b 4 map[]}]"},
		{"", "[]"},
		{"a:1:x", "no number of partitions or replicas"},
		{"a:1:1:compact:more", "want name:partitions:replicas"},
		{":1:1", "want name:partitions:replicas"},
	} {
		got, err := ParseCreateTopics(c.in)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want && (err == nil || !strings.Contains(text, c.want)) {
			t.Errorf("%q: %s, want %s", c.in, text, c.want)
		}
	}
}
