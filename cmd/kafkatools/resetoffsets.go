package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// scope are the partitions that --topic name or name:0,1 and --all-topics mean.
func scope(ctx context.Context, client *kgo.Client, a arguments, offsets map[topicPartition]int64) (map[string][]int32, error) {
	wanted := map[string][]int32{}
	if a.has("all-topics") {
		for at := range offsets {
			wanted[at.topic] = append(wanted[at.topic], at.partition)
		}
		return wanted, nil
	}
	if !a.has("topic") {
		return nil, errors.New("One of the reset scopes should be defined: --all-topics, --topic.")
	}
	for _, text := range a.values["topic"] {
		name, list, some := strings.Cut(text, ":")
		if some {
			for _, word := range strings.Split(list, ",") {
				n, err := strconv.ParseInt(word, 10, 32)
				if err != nil {
					return nil, fmt.Errorf("Invalid partition '%s' in %s", word, text)
				}
				wanted[name] = append(wanted[name], int32(n))
			}
			continue
		}
		answer, err := metadata(ctx, client, name)
		if err != nil {
			return nil, err
		}
		for _, t := range answer.Topics {
			if err := answerError(t.ErrorCode, nil); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for _, p := range t.Partitions {
				wanted[name] = append(wanted[name], p.Partition)
			}
		}
	}
	return wanted, nil
}

// resetOffsets is --reset-offsets: it prints the new offsets and, with --execute, commits them.
func resetOffsets(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	names, err := groupNames(ctx, client, a)
	if err != nil {
		return err
	}
	rows := [][]string{{"GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"}}
	for _, name := range names {
		s, err := describeGroup(ctx, client, name)
		if err == nil && s.state != "Empty" && s.state != "Dead" {
			return fmt.Errorf("Assignments can only be reset if the group '%s' is inactive, but the current state is %s.", name, s.state)
		}
		offsets, err := newOffsets(ctx, client, name, a)
		if err != nil {
			return err
		}
		if a.has("execute") {
			if err := commit(ctx, client, name, offsets); err != nil {
				return err
			}
		}
		for _, at := range sorted(offsets) {
			rows = append(rows, []string{name, at.topic, strconv.Itoa(int(at.partition)), strconv.FormatInt(offsets[at], 10)})
		}
	}
	if !a.has("execute") && !a.has("dry-run") {
		fmt.Fprintln(c.err, "WARN: No action will be performed as the --execute option is missing. In a future major release, the default behavior of this command will be to prompt the user before executing the reset rather than doing a dry run. You should add the --dry-run option explicitly if you are scripting this command and want to keep the current default behavior without prompting.")
	}
	fmt.Fprintln(c.out)
	printTable(c, []int{15, 15, 10, 0}, rows)
	return nil
}

// newOffsets are the offsets that the options ask for, within what each log holds.
func newOffsets(ctx context.Context, client *kgo.Client, name string, a arguments) (map[topicPartition]int64, error) {
	current, err := committed(ctx, client, name)
	if err != nil {
		return nil, err
	}
	wanted, err := scope(ctx, client, a, current)
	if err != nil {
		return nil, err
	}
	starts, err := listOffsets(ctx, client, wanted, -2)
	if err != nil {
		return nil, err
	}
	ends, err := listOffsets(ctx, client, wanted, -1)
	if err != nil {
		return nil, err
	}
	shift, err1 := a.number("shift-by", 0)
	fixed, err2 := a.number("to-offset", 0)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	all := map[topicPartition]int64{}
	for at, end := range ends {
		offset, there := current[at]
		switch {
		case a.has("to-earliest"):
			offset = starts[at]
		case a.has("to-latest"), a.has("to-current") && !there:
			offset = end
		case a.has("to-offset"):
			offset = fixed
		case a.has("shift-by") && !there:
			return nil, fmt.Errorf("Cannot shift offset for partition %s-%d since there is no current committed offset", at.topic, at.partition)
		case a.has("shift-by"):
			offset += shift
		case a.has("to-current"):
		default:
			return nil, errors.New("Option 'reset-offsets' requires one of --to-earliest, --to-latest, --to-current, --to-offset, --shift-by")
		}
		all[at] = min(max(offset, starts[at]), end)
	}
	return all, nil
}

func commit(ctx context.Context, client *kgo.Client, name string, offsets map[topicPartition]int64) error {
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation = name, -1
	topics := map[string]int{}
	for _, at := range sorted(offsets) {
		i, there := topics[at.topic]
		if !there {
			i = len(request.Topics)
			topics[at.topic] = i
			topic := kmsg.NewOffsetCommitRequestTopic()
			topic.Topic = at.topic
			request.Topics = append(request.Topics, topic)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = at.partition, offsets[at]
		request.Topics[i].Partitions = append(request.Topics[i].Partitions, p)
	}
	answer, err := ask[*kmsg.OffsetCommitResponse](ctx, client, request)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := answerError(p.ErrorCode, nil); err != nil {
				return fmt.Errorf("%s-%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return nil
}

// deleteOffsets is --delete-offsets of one group.
func deleteOffsets(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	wanted, err := scope(ctx, client, a, nil)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrOffsetDeleteRequest()
	request.Group = a.one("group")
	for name, partitions := range wanted {
		topic := kmsg.NewOffsetDeleteRequestTopic()
		topic.Topic = name
		for _, id := range partitions {
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = id
			topic.Partitions = append(topic.Partitions, p)
		}
		request.Topics = append(request.Topics, topic)
	}
	answer, err := ask[*kmsg.OffsetDeleteResponse](ctx, client, request)
	if err != nil {
		return err
	}
	if err := answerError(answer.ErrorCode, nil); err != nil {
		return err
	}
	rows := [][]string{{"TOPIC", "PARTITION", "STATUS"}}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			status := "Successful"
			if err := answerError(p.ErrorCode, nil); err != nil {
				status = "Error: " + err.Error()
			}
			rows = append(rows, []string{t.Topic, strconv.Itoa(int(p.Partition)), status})
		}
	}
	fmt.Fprintf(c.out, "Request succeeded for deleting offsets from group %s.\n\n", a.one("group"))
	printTable(c, []int{15, 10, 15}, rows)
	return nil
}
