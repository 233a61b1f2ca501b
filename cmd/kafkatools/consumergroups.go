package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func groupsGrammar() grammar {
	return grammar{
		valued: []string{"bootstrap-server", "command-config", "group", "topic", "timeout", "to-offset", "shift-by", "type"},
		plain: []string{"list", "describe", "delete", "delete-offsets", "reset-offsets", "all-groups", "all-topics", "members", "offsets", "state", "verbose",
			"execute", "dry-run", "to-earliest", "to-latest", "to-current", "help", "version"},
	}
}

// runConsumerGroups is kafka-consumer-groups.
func runConsumerGroups(ctx context.Context, args []string, c console) int {
	g := groupsGrammar()
	a, err := g.parse(args)
	if err != nil {
		return c.wrong(g, err)
	}
	actions := map[string]func(context.Context, *kgo.Client, arguments, console) error{
		"list": listGroups, "describe": describeGroups, "delete": deleteGroups, "reset-offsets": resetOffsets, "delete-offsets": deleteOffsets,
	}
	var chosen []string
	for name := range actions {
		if a.has(name) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) != 1 {
		return c.wrong(g, errors.New("Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets."))
	}
	if chosen[0] != "list" && !a.has("group") && !a.has("all-groups") {
		return c.wrong(g, fmt.Errorf("Option [%s] takes one of these options: [all-groups], [group]", chosen[0]))
	}
	client, err := connect(a)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	if err := actions[chosen[0]](ctx, client, a, c); err != nil {
		text := err.Error()
		var told *brokerError
		if errors.As(err, &told) {
			text = told.javaName()
		}
		fmt.Fprintf(c.out, "\nError: Executing consumer group command failed due to %s\n", text)
	}
	return 0 // whatever happened, as Kafka's
}

// groupNames are the groups that an action is for: those named, or all of the broker's.
func groupNames(ctx context.Context, client *kgo.Client, a arguments) ([]string, error) {
	if !a.has("all-groups") && a.has("group") {
		return a.values["group"], nil
	}
	answer, err := ask[*kmsg.ListGroupsResponse](ctx, client, kmsg.NewPtrListGroupsRequest())
	if err != nil {
		return nil, err
	}
	if err := answerError(answer.ErrorCode, nil); err != nil {
		return nil, err
	}
	var names []string
	for _, g := range answer.Groups {
		if g.ProtocolType == "consumer" || g.ProtocolType == "" {
			names = append(names, g.Group)
		}
	}
	sort.Strings(names)
	return names, nil
}

func listGroups(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	if !a.has("state") {
		names, err := groupNames(ctx, client, a)
		for _, name := range names {
			fmt.Fprintln(c.out, name)
		}
		return err
	}
	answer, err := ask[*kmsg.ListGroupsResponse](ctx, client, kmsg.NewPtrListGroupsRequest())
	if err != nil {
		return err
	}
	rows := [][]string{{"GROUP", "STATE"}}
	for _, g := range answer.Groups {
		rows = append(rows, []string{g.Group, g.GroupState})
	}
	printTable(c, []int{25, 20}, rows)
	return nil
}

// printTable prints rows in columns that are as wide as least says and as their longest word; the last one, with a least
// width of 0, is not filled up.
func printTable(c console, least []int, rows [][]string) {
	for _, row := range rows {
		var line strings.Builder
		for i, word := range row {
			width := least[i]
			for _, r := range rows {
				if width > 0 {
					width = max(width, len(r[i]))
				}
			}
			if i > 0 {
				line.WriteByte(' ')
			}
			fmt.Fprintf(&line, "%-*s", width, word)
		}
		fmt.Fprintln(c.out, line.String())
	}
}

// groupMember is a member of a group of either protocol.
type groupMember struct {
	id, instance, host, client string
	assigned                   map[string][]int32
}

// groupState is what a coordinator tells of a group.
type groupState struct {
	state, assignor string
	members         []groupMember
}

func describeGroup(ctx context.Context, client *kgo.Client, name string) (groupState, error) {
	modern := kmsg.NewPtrConsumerGroupDescribeRequest()
	modern.Groups = []string{name}
	if answer, err := ask[*kmsg.ConsumerGroupDescribeResponse](ctx, client, modern); err == nil && answer.Groups[0].ErrorCode == 0 {
		g := answer.Groups[0]
		s := groupState{state: g.State, assignor: g.AssignorName}
		for _, m := range g.Members {
			member := groupMember{id: m.MemberID, instance: deref(m.InstanceID), host: m.ClientHost, client: m.ClientID, assigned: map[string][]int32{}}
			for _, t := range m.Assignment.TopicPartitions {
				member.assigned[t.Topic] = t.Partitions
			}
			s.members = append(s.members, member)
		}
		return s, nil
	}
	classic := kmsg.NewPtrDescribeGroupsRequest()
	classic.Groups = []string{name}
	answer, err := ask[*kmsg.DescribeGroupsResponse](ctx, client, classic)
	if err != nil {
		return groupState{}, err
	}
	g := answer.Groups[0]
	if err := answerError(g.ErrorCode, g.ErrorMessage); err != nil {
		return groupState{}, err
	}
	s := groupState{state: g.State, assignor: g.Protocol}
	for _, m := range g.Members {
		member := groupMember{id: m.MemberID, instance: deref(m.InstanceID), host: m.ClientHost, client: m.ClientID, assigned: map[string][]int32{}}
		var assignment kmsg.ConsumerMemberAssignment
		if assignment.ReadFrom(m.MemberAssignment) == nil {
			for _, t := range assignment.Topics {
				member.assigned[t.Topic] = t.Partitions
			}
		}
		s.members = append(s.members, member)
	}
	return s, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func describeGroups(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	names, err := groupNames(ctx, client, a)
	if err != nil {
		return err
	}
	for _, name := range names {
		s, err := describeGroup(ctx, client, name)
		if err != nil {
			return err
		}
		if s.state == "Dead" {
			return fmt.Errorf("Consumer group '%s' does not exist.", name)
		}
		fmt.Fprintln(c.out)
		switch {
		case a.has("state"):
			if err := printState(ctx, client, name, s, c); err != nil {
				return err
			}
		case a.has("members"):
			printMembers(name, s, a.has("verbose"), c)
		default:
			if err := printGroupOffsets(ctx, client, name, s, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func printState(ctx context.Context, client *kgo.Client, name string, s groupState, c console) error {
	request := kmsg.NewPtrFindCoordinatorRequest()
	request.CoordinatorKey, request.CoordinatorKeys = name, []string{name}
	answer, err := ask[*kmsg.FindCoordinatorResponse](ctx, client, request)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("%s:%d  (%d)", answer.Host, answer.Port, answer.NodeID)
	for _, found := range answer.Coordinators {
		if err := answerError(found.ErrorCode, found.ErrorMessage); err != nil {
			return err
		}
		where = fmt.Sprintf("%s:%d  (%d)", found.Host, found.Port, found.NodeID)
	}
	assignor := s.assignor
	if assignor == "" {
		assignor = "-"
	}
	printTable(c, []int{15, 25, 20, 20, 0}, [][]string{{"GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"},
		{name, where, assignor, s.state, strconv.Itoa(len(s.members))}})
	return nil
}

func printMembers(name string, s groupState, verbose bool, c console) {
	rows, least := [][]string{{"GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"}}, []int{15, 15, 15, 15, 15, 0}
	if verbose {
		rows[0] = append(rows[0], "ASSIGNMENT")
	}
	for _, m := range s.members {
		count, words := 0, []string{}
		for topic, partitions := range m.assigned {
			count += len(partitions)
			words = append(words, topic+"("+join(partitions)+")")
		}
		sort.Strings(words)
		row := []string{name, m.id, m.host, m.client, strconv.Itoa(count)}
		if verbose {
			row = append(row, strings.Join(words, ", "))
		}
		rows = append(rows, row)
	}
	if len(s.members) == 0 {
		fmt.Fprintf(c.err, "Consumer group '%s' has no active members.\n", name)
		return
	}
	printTable(c, least, rows)
}

// committed are the offsets that a group has committed.
func committed(ctx context.Context, client *kgo.Client, name string) (map[topicPartition]int64, error) {
	request := kmsg.NewPtrOffsetFetchRequest()
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = name
	request.Group, request.Groups = name, append(request.Groups, group)
	answer, err := client.Request(ctx, request)
	if err != nil {
		return nil, err
	}
	all := map[topicPartition]int64{}
	for _, g := range answer.(*kmsg.OffsetFetchResponse).Groups {
		if err := answerError(g.ErrorCode, nil); err != nil {
			return nil, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if p.Offset >= 0 {
					all[topicPartition{t.Topic, p.Partition}] = p.Offset
				}
			}
		}
	}
	return all, nil
}

func printGroupOffsets(ctx context.Context, client *kgo.Client, name string, s groupState, c console) error {
	offsets, err := committed(ctx, client, name)
	if err != nil {
		return err
	}
	owners := map[topicPartition]groupMember{}
	wanted := map[string][]int32{}
	add := func(at topicPartition) {
		if _, there := owners[at]; !there {
			wanted[at.topic] = append(wanted[at.topic], at.partition)
			owners[at] = groupMember{id: "-", host: "-", client: "-"}
		}
	}
	for at := range offsets {
		add(at)
	}
	for _, m := range s.members {
		for topic, partitions := range m.assigned {
			for _, p := range partitions {
				add(topicPartition{topic, p})
				owners[topicPartition{topic, p}] = m
			}
		}
	}
	if len(s.members) == 0 {
		fmt.Fprintf(c.err, "Consumer group '%s' has no active members.\n", name)
	}
	if len(wanted) == 0 {
		return nil
	}
	ends, err := listOffsets(ctx, client, wanted, -1)
	if err != nil {
		return err
	}
	rows := [][]string{{"GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"}}
	for _, at := range sorted(owners) {
		current, lag := "-", "-"
		if offset, there := offsets[at]; there {
			current, lag = strconv.FormatInt(offset, 10), strconv.FormatInt(ends[at]-offset, 10)
		}
		m := owners[at]
		rows = append(rows, []string{name, at.topic, strconv.Itoa(int(at.partition)), current, strconv.FormatInt(ends[at], 10), lag, m.id, m.host, m.client})
	}
	printTable(c, []int{15, 15, 10, 15, 15, 15, 15, 15, 0}, rows)
	return nil
}

func deleteGroups(ctx context.Context, client *kgo.Client, a arguments, c console) error {
	names, err := groupNames(ctx, client, a)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrDeleteGroupsRequest()
	request.Groups = names
	answer, err := ask[*kmsg.DeleteGroupsResponse](ctx, client, request)
	if err != nil {
		return err
	}
	var failed []string
	for _, g := range answer.Groups {
		var told *brokerError
		if errors.As(answerError(g.ErrorCode, nil), &told) {
			failed = append(failed, fmt.Sprintf("* Group '%s' could not be deleted due to: %s", g.Group, told.javaName()))
		}
	}
	if len(failed) > 0 {
		fmt.Fprintf(c.out, "\nError: Deletion of some consumer groups failed:\n%s\n", strings.Join(failed, "\n"))
		return nil
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "'" + name + "'"
	}
	fmt.Fprintf(c.out, "Deletion of requested consumer groups (%s) was successful.\n", strings.Join(quoted, ", "))
	return nil
}
