package handlers

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeTopicPartitionsPages(t *testing.T) {
	a := newAdminAPI(t)
	a.create("a", 3)
	a.create("b", 2)
	for _, c := range []struct {
		topics string
		limit  int32
		cursor string // topic and partition, "" = none
		want   string
	}{
		{"ab", 2000, "", "a012 b01"},
		{"ba", 4, "", "a012 b0 next b1"},
		{"ab", 2, "a2", "a2 b0 next b1"},
		{"ab", 3, "", "a012 next b0"},
		{"ab", 10, "b1", "b1"},
		{"ab", 10, "b9", "b"},
		{"aa", 10, "", "a012"},
		{"a", 0, "", "a0 next a1"},
		{"a", -1, "", "a0 next a1"},
		{"", 4, "", "a012 b0 next b1"},
		{"", 4, "b0", "b01"},
		{"ax", 10, "", "a012 x!3"},
		{"a", 10, "c0", "a!42"},
		{"a", 10, "a-", "a!42"},
	} {
		request := kmsg.NewPtrDescribeTopicPartitionsRequest()
		request.ResponsePartitionLimit = c.limit
		for _, name := range c.topics {
			request.Topics = append(request.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: string(name)})
		}
		if c.cursor != "" {
			request.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: c.cursor[:1], Partition: int32(c.cursor[1]) - '0'}
		}
		if got := pageText(ask[*kmsg.DescribeTopicPartitionsResponse](a, 0, request)); got != c.want {
			t.Errorf("%q limit %d cursor %q: %q, want %q", c.topics, c.limit, c.cursor, got, c.want)
		}
	}
}

// pageText puts an answer into one line.
func pageText(answer *kmsg.DescribeTopicPartitionsResponse) string {
	text := ""
	for _, topic := range answer.Topics {
		if text != "" {
			text += " "
		}
		text += *topic.Topic
		if topic.ErrorCode != 0 {
			text += fmt.Sprintf("!%d", topic.ErrorCode)
		}
		for _, p := range topic.Partitions {
			text += fmt.Sprint(p.Partition)
		}
	}
	if answer.NextCursor != nil {
		text += fmt.Sprintf(" next %s%d", answer.NextCursor.Topic, answer.NextCursor.Partition)
	}
	return text
}
