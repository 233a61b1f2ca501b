package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func getOffsetsGrammar() grammar {
	return grammar{
		valued: []string{"bootstrap-server", "command-config", "topic", "partitions", "topic-partitions", "time"},
		plain:  []string{"exclude-internal-topics", "help", "version"},
	}
}

// runGetOffsets is kafka-get-offsets.
func runGetOffsets(ctx context.Context, args []string, c console) int {
	g := getOffsetsGrammar()
	a, err := g.parse(args)
	if err != nil {
		return c.wrong(g, err)
	}
	at, err := offsetTime(a.one("time"))
	if err != nil {
		return c.wrong(g, err)
	}
	client, err := connect(a)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	if err := printOffsets(ctx, client, a, at, c); err != nil {
		fmt.Fprintf(c.err, "Error occurred: %v\n", err)
		return 1
	}
	return 0
}

// offsetTime reads --time: a name, its number, or milliseconds since 1970.
func offsetTime(text string) (int64, error) {
	names := map[string]int64{"": -1, "latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}
	if n, found := names[text]; found {
		return n, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("Malformed time argument %s. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered, or a specified long format timestamp", text)
	}
	return n, nil
}

func printOffsets(ctx context.Context, client *kgo.Client, a arguments, at int64, c console) error {
	pattern, err := regexp.Compile("^(?:" + strings.ReplaceAll(a.one("topic"), ",", "|") + ")$")
	if err != nil {
		return err
	}
	answer, err := metadata(ctx, client)
	if err != nil {
		return err
	}
	wanted := map[string][]int32{}
	for _, t := range answer.Topics {
		if a.has("topic") && !pattern.MatchString(*t.Topic) || t.IsInternal && a.has("exclude-internal-topics") {
			continue
		}
		for _, p := range t.Partitions {
			if only := a.one("partitions"); only == "" || contains(strings.Split(only, ","), p.Partition) {
				wanted[*t.Topic] = append(wanted[*t.Topic], p.Partition)
			}
		}
	}
	if len(wanted) == 0 {
		return errors.New("Could not match any topic-partitions with the specified filters")
	}
	offsets, err := listOffsets(ctx, client, wanted, at)
	if err != nil {
		return err
	}
	for _, at := range sorted(offsets) {
		if offset := offsets[at]; offset >= 0 {
			fmt.Fprintf(c.out, "%s:%d:%d\n", at.topic, at.partition, offset)
		}
	}
	return nil
}

func contains(words []string, n int32) bool {
	for _, w := range words {
		if strings.TrimSpace(w) == strconv.Itoa(int(n)) {
			return true
		}
	}
	return false
}

// topicPartition names a partition.
type topicPartition struct {
	topic     string
	partition int32
}

func sorted[V any](m map[topicPartition]V) []topicPartition {
	keys := make([]topicPartition, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].topic < keys[j].topic || keys[i].topic == keys[j].topic && keys[i].partition < keys[j].partition
	})
	return keys
}

// listOffsets asks for the offset of a time (or -1, -2, -3 ...) in partitions; -1 says that there is none.
func listOffsets(ctx context.Context, client *kgo.Client, wanted map[string][]int32, at int64) (map[topicPartition]int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	for name, partitions := range wanted {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for _, id := range partitions {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = id, at
			topic.Partitions = append(topic.Partitions, p)
		}
		request.Topics = append(request.Topics, topic)
	}
	answer, err := ask[*kmsg.ListOffsetsResponse](ctx, client, request)
	if err != nil {
		return nil, err
	}
	all := map[topicPartition]int64{}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := answerError(p.ErrorCode, nil); err != nil {
				return nil, fmt.Errorf("%s-%d: %w", t.Topic, p.Partition, err)
			}
			all[topicPartition{t.Topic, p.Partition}] = p.Offset
		}
	}
	return all, nil
}
