package logstore

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHashOrders compares the simulated maps with what the real ones printed.
func TestHashOrders(t *testing.T) {
	data, err := os.ReadFile("testdata/hashorders.txt")
	if err != nil {
		t.Fatal(err)
	}
	var in []TopicPartition
	var producers *ProducerState
	seen := make(map[string]int)
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		kind, words := words[0], words[1:]
		seen[kind]++
		switch kind {
		case "in":
			in = partitionsOf(t, words)
		case "source":
			equalPartitions(t, kind, ordered(in, concurrentOrder), partitionsOf(t, words))
		case "java":
			equalPartitions(t, kind, ordered(in, javaHashOrder), partitionsOf(t, words))
		case "scala":
			equalPartitions(t, kind, ordered(in, scalaHashOrder), partitionsOf(t, words))
		case "pin":
			producers = &ProducerState{}
			for _, w := range words {
				producers.entry(number(t, w))
			}
		case "producers":
			var got []string
			for _, e := range producers.ordered() {
				got = append(got, strconv.FormatInt(e.id, 10))
			}
			if !slices.Equal(got, words) {
				t.Errorf("producers:\n got %v\nwant %v", got, words)
			}
		}
	}
	for _, kind := range []string{"in", "source", "java", "scala", "pin", "producers"} {
		if seen[kind] < 4 {
			t.Errorf("%d lines %q in the file", seen[kind], kind)
		}
	}
}

func partitionsOf(t *testing.T, words []string) []TopicPartition {
	t.Helper()
	var tps []TopicPartition
	for i := 0; i+1 < len(words); i += 2 {
		tps = append(tps, TopicPartition{words[i], int32(number(t, words[i+1]))})
	}
	return tps
}

// ordered is partitions in an order of their hashes.
func ordered(tps []TopicPartition, order func([]int32) []int32) []TopicPartition {
	entries := make([]CheckpointEntry, len(tps))
	for i, tp := range tps {
		entries[i].TopicPartition = tp
	}
	var all []TopicPartition
	for _, at := range order(javaHashes(entries)) {
		all = append(all, tps[at])
	}
	return all
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func equalPartitions(t *testing.T, kind string, got, want []TopicPartition) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", kind, got, want)
	}
}

func TestJavaStringHash(t *testing.T) {
	for s, want := range map[string]int32{
		"": 0, "a": 97, "zeta.topic_1": -1364787189, "grüße": 98768023, "\U0001F600": 1772899,
	} {
		if got := javaStringHash(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	}
}
