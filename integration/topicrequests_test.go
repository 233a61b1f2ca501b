package integration

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterTopic sets topic settings and gives the error code of the answer.
func (c *Conn) AlterTopic(topic string, config map[string]string) (int16, error) {
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for _, k := range slices.Sorted(maps.Keys(config)) {
		v := config[k]
		e := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		e.Name, e.Op, e.Value = k, kmsg.IncrementalAlterConfigOpSet, &v
		resource.Configs = append(resource.Configs, e)
	}
	r.Resources = append(r.Resources, resource)
	resp, err := c.Request(r, 1)
	if err != nil {
		return 0, err
	}
	return resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode, nil
}

// DeleteTopic deletes a topic by its name and gives the error code of the answer.
func (c *Conn) DeleteTopic(topic string) (int16, error) {
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.TimeoutMillis = 30000
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &topic
	r.Topics = append(r.Topics, t)
	resp, err := c.Request(r, 6)
	if err != nil {
		return 0, err
	}
	return resp.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode, nil
}

// changeTopic does the steps that change or remove a topic.
func (r *replay) changeTopic(i int, s Step) {
	r.t.Helper()
	code, err := int16(0), error(nil)
	what := fmt.Sprintf("%s %s", s.Op, s.Topic)
	if s.Op == "alter" {
		what += " " + fmt.Sprint(s.Config)
		code, err = r.conn.AlterTopic(s.Topic, s.Config)
	} else {
		code, err = r.conn.DeleteTopic(s.Topic)
	}
	if err != nil {
		r.t.Fatalf("step %d: %v", i, err)
	}
	r.say(i, "%s: error %d ", what, code)
}
