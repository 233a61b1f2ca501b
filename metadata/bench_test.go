package metadata

import (
	"fmt"
	"path/filepath"
	"testing"

	"minibroker/internal/vfs"
)

func fill(tb testing.TB, n *node, from, count int) {
	topics := make([]NewTopic, 0, 500)
	for k := range count {
		topics = append(topics, NewTopic{Name: fmt.Sprintf("topic-%06d", from+k), Partitions: 1})
		if len(topics) == cap(topics) || k == count-1 {
			if _, err := n.CreateTopics(topics); err != nil {
				tb.Fatal(err)
			}
			topics = topics[:0]
		}
	}
}

func BenchmarkOpen1000Topics(b *testing.B) {
	n := newNode(b, vfs.OS(), filepath.Join(b.TempDir(), DirName)).start()
	fill(b, n, 0, 1000)
	n.stop()
	for b.Loop() {
		n.start()
		b.StopTimer()
		n.stop()
		b.StartTimer()
	}
}

func BenchmarkApply500TopicsOn5000(b *testing.B) { benchmarkApply(b, 5000, 500) }
func BenchmarkApply1TopicOn5000(b *testing.B)    { benchmarkApply(b, 5000, 1) }

func benchmarkApply(b *testing.B, have, more int) {
	n := newNode(b, vfs.NewMem(), "/d/"+DirName).start()
	fill(b, n, 0, have)
	topics := make([]NewTopic, more)
	for i := range topics {
		topics[i] = NewTopic{Name: fmt.Sprintf("new-%d", i), Partitions: 1}
	}
	records, err := n.creation(n.Image(), topics)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		e := n.Image().edit(nil)
		for _, r := range records {
			if err := e.apply(r); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := e.done(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTopicLookup(b *testing.B) {
	n := newNode(b, vfs.NewMem(), "/d/"+DirName).start()
	fill(b, n, 0, 5000)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := n.Image().Topic("topic-002500"); !ok {
			b.Fatal("missing")
		}
	}
}

func BenchmarkCreateTopicOnDisk(b *testing.B) {
	n := newNode(b, vfs.OS(), filepath.Join(b.TempDir(), DirName)).start()
	k := 0
	for b.Loop() {
		fill(b, n, k, 1)
		k++
	}
}

func BenchmarkOpenEmpty(b *testing.B) {
	root := b.TempDir()
	k := 0
	for b.Loop() {
		n := newNode(b, vfs.OS(), filepath.Join(root, fmt.Sprint(k), DirName)).start()
		b.StopTimer()
		n.stop()
		k++
		b.StartTimer()
	}
}
