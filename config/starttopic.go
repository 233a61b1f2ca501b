package config

import (
	"fmt"
	"strconv"
	"strings"
)

// StartTopic is a topic to create at the start unless it is there.
type StartTopic struct {
	Name       string
	Partitions int // 0 is num.partitions
	Configs    map[string]string
}

// ParseStartTopic reads name[:partitions[:key=value]...]. A piece without = belongs to the value before it, which may
// hold colons.
func ParseStartTopic(s string) (StartTopic, error) {
	parts := strings.Split(s, ":")
	t := StartTopic{Name: strings.TrimSpace(parts[0])}
	if t.Name == "" {
		return t, fmt.Errorf("topic %q has no name: want name:partitions[:key=value...]", s)
	}
	if len(parts) == 1 {
		return t, nil
	}
	var err error
	if t.Partitions, err = partitionsOf(s, parts[1]); err != nil {
		return t, err
	}
	last := ""
	for _, part := range parts[2:] {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case ok:
			if t.Configs == nil {
				t.Configs = map[string]string{}
			}
			last, t.Configs[key] = key, value
		case last == "":
			return t, fmt.Errorf("topic %q: %q is no setting: want name:partitions[:key=value...]", s, part)
		default:
			t.Configs[last] += ":" + part
		}
	}
	return t, nil
}

// ParseCreateTopics reads name:partitions:replicas[:cleanup.policy] with commas or line ends between topics, as
// wurstmeister/kafka does. Replicas are read and not looked at: one node holds one.
func ParseCreateTopics(s string) ([]StartTopic, error) {
	var topics []StartTopic
	for _, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		parts := strings.Split(entry, ":")
		t := StartTopic{Name: strings.TrimSpace(parts[0])}
		if t.Name == "" || len(parts) > 4 {
			return nil, fmt.Errorf("topic %q: want name:partitions:replicas[:cleanup.policy]", entry)
		}
		var err error
		if len(parts) > 1 {
			if t.Partitions, err = partitionsOf(entry, parts[1]); err != nil {
				return nil, err
			}
		}
		if len(parts) > 2 {
			if _, err := partitionsOf(entry, parts[2]); err != nil {
				return nil, err
			}
		}
		if len(parts) > 3 {
			t.Configs = map[string]string{"cleanup.policy": strings.TrimSpace(parts[3])}
		}
		topics = append(topics, t)
	}
	return topics, nil
}

// partitionsOf reads a number of partitions or replicas, at least 1.
func partitionsOf(entry, s string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("topic %q: %q is no number of partitions or replicas: want a number from 1 on", entry, s)
	}
	return int(n), nil
}
