package minibroker

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"minibroker/config"
	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// TestStartTopics: topics and the cluster id that a start asks for are there after it, and are left alone by the next one.
func TestStartTopics(t *testing.T) {
	mem := vfs.NewMem()
	var said bytes.Buffer
	open := func(clusterID string, topics ...config.StartTopic) (*Broker, error) {
		return Open(t.Context(), Options{Config: memConfig(t), FS: mem, ClusterID: clusterID, Topics: topics, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	}
	if _, err := open("", config.StartTopic{Name: "wrong", Configs: map[string]string{"no.such": "1"}}); err == nil || !strings.Contains(err.Error(), "no.such") {
		t.Errorf("a topic with an unknown setting: %v", err)
	}
	mem = vfs.NewMem()
	for range 2 {
		b, err := open("abc", config.StartTopic{Name: "three", Partitions: 3})
		if err != nil {
			t.Fatal(err)
		}
		topic, ok := b.meta.Image().Topic("three")
		if !ok || len(topic.Partitions) != 3 {
			t.Errorf("no topic with three partitions: %v", topic)
		}
		if want := b.Addr("").String(); b.Advertised(b.bound()[0].config.Name) != want || b.Advertised("none") != "" {
			t.Errorf("advertised %q, bound %q", b.Advertised(b.bound()[0].config.Name), want)
		}
		if err := b.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	b, err := open("other")
	if err != nil {
		t.Fatal(err)
	}
	if id := b.store.ClusterID(); id != "abc" || !strings.Contains(said.String(), "The cluster id other is not used: /data belongs to cluster abc") {
		t.Errorf("cluster id %s, said %s", id, said.String())
	}
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if found, err := logstore.Verify(mem, "/data"); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}
