package handlers

import (
	"strings"
	"testing"

	"minibroker/config"
)

func TestCreateMissing(t *testing.T) {
	a := newAdminAPI(t)
	a.create("old", 1)
	if err := a.CreateMissing(nil); err != nil {
		t.Error(err)
	}
	err := a.CreateMissing([]config.StartTopic{
		{Name: "old", Partitions: 5},
		{Name: "default"},
		{Name: "three", Partitions: 3, Configs: map[string]string{"cleanup.policy": "compact"}},
		{Name: "bad/name", Partitions: 1},
		{Name: "wrong", Partitions: 1, Configs: map[string]string{"no.such": "1"}},
	})
	for _, want := range []string{"create topic bad/name: ", "create topic wrong: ", "Unknown topic config name: no.such"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	image := a.meta.Image()
	for name, want := range map[string]int{"old": 1, "default": 1, "three": 3, "wrong": 0, "bad/name": 0} {
		got := 0
		if topic, ok := image.Topic(name); ok {
			got = len(topic.Partitions)
		}
		if got != want {
			t.Errorf("%s has %d partitions, want %d", name, got, want)
		}
	}
	if err := a.CreateMissing([]config.StartTopic{{Name: "huge", Partitions: 10_001}}); err == nil {
		t.Error("a topic of 10,001 partitions is created")
	}
}
