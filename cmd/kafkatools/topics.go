package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topicsGrammar() grammar {
	return grammar{
		valued: []string{"bootstrap-server", "command-config", "topic", "topic-id", "partitions", "replication-factor", "replica-assignment", "config", "delete-config", "partition-size-limit-per-response"},
		plain: []string{"create", "list", "describe", "alter", "delete", "if-not-exists", "if-exists", "exclude-internal", "topics-with-overrides",
			"under-replicated-partitions", "unavailable-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "help", "version", "force"},
	}
}

// runTopics is kafka-topics.
func runTopics(ctx context.Context, args []string, c console) int {
	g := topicsGrammar()
	a, err := g.parse(args)
	if err != nil {
		return c.wrong(g, err)
	}
	actions := map[string]func(context.Context, *kgo.Client, arguments, console) error{
		"create": createTopic, "list": listTopics, "describe": describeTopics, "alter": alterTopics, "delete": deleteTopics,
	}
	var chosen []string
	for name := range actions {
		if a.has(name) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) != 1 {
		return c.wrong(g, errors.New("Command must include exactly one action: --list, --describe, --create, --alter or --delete"))
	}
	client, err := connect(a)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	if err := actions[chosen[0]](ctx, client, a, c); err != nil {
		fmt.Fprintf(c.out, "Error while executing topic command : %v\n", err)
		return 1
	}
	return 0
}

func createTopic(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	name := a.one("topic")
	if name == "" {
		return errors.New("Missing required argument \"[topic]\"")
	}
	if strings.ContainsAny(name, "._") {
		fmt.Fprintln(c.out, "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To avoid issues it is best to use either, but not both.")
	}
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = name
	partitions, err := a.number("partitions", -1)
	if err != nil {
		return err
	}
	factor, err := a.number("replication-factor", -1)
	if err != nil {
		return err
	}
	topic.NumPartitions, topic.ReplicationFactor = int32(partitions), int16(factor)
	if a.has("replica-assignment") {
		topic.NumPartitions, topic.ReplicationFactor = -1, -1
		if topic.ReplicaAssignment, err = replicaAssignment(a.one("replica-assignment")); err != nil {
			return err
		}
	}
	for _, value := range a.values["config"] { // a value may hold commas
		key, v, _ := strings.Cut(value, "=")
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, kmsg.StringPtr(v)
		topic.Configs = append(topic.Configs, config)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis, request.Topics = 60000, append(request.Topics, topic)
	answer, err := ask[*kmsg.CreateTopicsResponse](ctx, client, request)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		if t.ErrorCode == kerr.TopicAlreadyExists.Code && a.has("if-not-exists") {
			return nil
		}
		if err := answerError(t.ErrorCode, t.ErrorMessage); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.out, "Created topic %s.\n", name)
	return nil
}

// replicaAssignment reads "1:2,2:1": the replicas of partition 0, of partition 1 and so on.
func replicaAssignment(text string) ([]kmsg.CreateTopicsRequestTopicReplicaAssignment, error) {
	var all []kmsg.CreateTopicsRequestTopicReplicaAssignment
	for i, part := range strings.Split(text, ",") {
		assignment := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		assignment.Partition = int32(i)
		for _, word := range strings.Split(part, ":") {
			id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("--replica-assignment %s: %s is not a node id", text, word)
			}
			assignment.Replicas = append(assignment.Replicas, int32(id))
		}
		all = append(all, assignment)
	}
	return all, nil
}

// matchingTopics are the topics that --topic (a regular expression) and --exclude-internal leave, by name.
func matchingTopics(ctx context.Context, client *kgo.Client, a arguments, must bool) ([]kmsg.MetadataResponseTopic, error) {
	answer, err := metadata(ctx, client)
	if err != nil {
		return nil, err
	}
	pattern := regexp.MustCompile("")
	if wanted := a.one("topic"); wanted != "" {
		wanted = strings.ReplaceAll(strings.Trim(strings.ReplaceAll(strings.TrimSpace(wanted), ",", "|"), `"'`), " ", "")
		if pattern, err = regexp.Compile("^(?:" + wanted + ")$"); err != nil {
			return nil, fmt.Errorf("%s is an invalid regex.", a.one("topic"))
		}
	}
	var found []kmsg.MetadataResponseTopic
	for _, t := range answer.Topics {
		if t.Topic == nil || !pattern.MatchString(*t.Topic) || t.IsInternal && a.has("exclude-internal") {
			continue
		}
		found = append(found, t)
	}
	if len(found) == 0 && must && a.has("topic") && !a.has("if-exists") {
		return nil, fmt.Errorf("Topic '%s' does not exist as expected", a.one("topic"))
	}
	sort.Slice(found, func(i, j int) bool { return *found[i].Topic < *found[j].Topic })
	return found, nil
}

func listTopics(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	found, err := matchingTopics(ctx, client, a, false)
	for _, t := range found {
		fmt.Fprintln(c.out, *t.Topic)
	}
	return err
}

func describeTopics(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	found, err := matchingTopics(ctx, client, a, true)
	if err != nil || len(found) == 0 {
		return err
	}
	names := make([]string, len(found))
	for i, t := range found {
		names[i] = *t.Topic
	}
	configs, err := describeConfigs(ctx, client, kmsg.ConfigResourceTypeTopic, names...)
	if err != nil {
		return err
	}
	for _, t := range found {
		sort.Slice(t.Partitions, func(i, j int) bool { return t.Partitions[i].Partition < t.Partitions[j].Partition })
		describeTopic(t, configs[*t.Topic], a, c)
	}
	return nil
}

func describeTopic(t kmsg.MetadataResponseTopic, configs []kmsg.DescribeConfigsResponseResourceConfig, a arguments, c console) {
	name, minISR := *t.Topic, 0
	var changed, own []string
	for _, config := range configs {
		if config.Name == "min.insync.replicas" && config.Value != nil {
			minISR, _ = strconv.Atoi(*config.Value) // the broker checked it
		}
		if config.Source == kmsg.ConfigSourceDefaultConfig || config.Value == nil {
			continue
		}
		changed = append(changed, config.Name+"="+*config.Value)
		if config.Source == kmsg.ConfigSourceDynamicTopicConfig {
			own = append(own, config.Name)
		}
	}
	if a.has("topics-with-overrides") && len(own) == 0 {
		return
	}
	if !a.partitionsOnly() {
		fmt.Fprintf(c.out, "Topic: %s\tTopicId: %s\tPartitionCount: %d\tReplicationFactor: %d\tConfigs: %s\n", name,
			base64.RawURLEncoding.EncodeToString(t.TopicID[:]), len(t.Partitions), len(t.Partitions[0].Replicas), strings.Join(changed, ","))
	}
	if a.has("topics-with-overrides") {
		return
	}
	for _, p := range t.Partitions {
		if a.partitionsOnly() && !a.asksFor(p, minISR) {
			continue
		}
		leader := "none"
		if p.Leader >= 0 {
			leader = strconv.Itoa(int(p.Leader))
		}
		fmt.Fprintf(c.out, "\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s\tElr: \tLastKnownElr: \n", name, p.Partition, leader, join(p.Replicas), join(p.ISR))
	}
}

// partitionsOnly tells whether partitions in trouble are asked for, without the lines of their topics.
func (a arguments) partitionsOnly() bool {
	return a.has("under-replicated-partitions") || a.has("unavailable-partitions") || a.has("under-min-isr-partitions") || a.has("at-min-isr-partitions")
}

// asksFor tells whether a partition is in one of the troubles that are asked for.
func (a arguments) asksFor(p kmsg.MetadataResponseTopicPartition, minISR int) bool {
	return a.has("under-replicated-partitions") && len(p.ISR) < len(p.Replicas) || a.has("unavailable-partitions") && p.Leader < 0 ||
		a.has("under-min-isr-partitions") && len(p.ISR) < minISR || a.has("at-min-isr-partitions") && len(p.ISR) == minISR
}

func join(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, ",")
}

func alterTopics(ctx context.Context, client *kgo.Client, a arguments, _ console) error {
	count, err := a.number("partitions", -1)
	if err != nil {
		return err
	}
	if count < 0 {
		return errors.New("Missing required argument \"[partitions]\"")
	}
	found, err := matchingTopics(ctx, client, a, true)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrCreatePartitionsRequest()
	request.TimeoutMillis = 60000
	for _, t := range found {
		topic := kmsg.NewCreatePartitionsRequestTopic()
		topic.Topic, topic.Count = *t.Topic, int32(count)
		request.Topics = append(request.Topics, topic)
	}
	answer, err := ask[*kmsg.CreatePartitionsResponse](ctx, client, request)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		if err := answerError(t.ErrorCode, t.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

func deleteTopics(ctx context.Context, client *kgo.Client, a arguments, _ console) error {
	if !a.has("topic") {
		return errors.New("Missing required argument \"[topic]\"")
	}
	found, err := matchingTopics(ctx, client, a, true)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TimeoutMillis = 60000
	for _, t := range found {
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = t.Topic
		request.Topics = append(request.Topics, topic)
		request.TopicNames = append(request.TopicNames, *t.Topic)
	}
	slices.Sort(request.TopicNames)
	answer, err := ask[*kmsg.DeleteTopicsResponse](ctx, client, request)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		if err := answerError(t.ErrorCode, t.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}
