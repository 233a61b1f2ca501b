package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// AlterConfigs, versions 0 to 2.
//
// The old form: the request holds all settings of a resource, what it leaves
// out is removed. Topics, brokers (this node and the default of the cluster),
// client metrics and groups.
//
// A request that names a resource twice gets no answer: measured on Apache
// Kafka 4.4.0, which trips over it when it puts the answer together. No known
// client can send it.

func (a *API) alterConfigs(_ context.Context, req *protocol.Request) (protocol.Response, error) {
	body, err := bodyOf[*kmsg.AlterConfigsRequest](req)
	if err != nil {
		return protocol.Response{}, err
	}
	a.configChange.Lock()
	defer a.configChange.Unlock()
	image := a.meta.Image()
	all := make([]*configAlteration, len(body.Resources))
	for i := range body.Resources {
		r := &body.Resources[i]
		all[i] = &configAlteration{resource: configResource{r.ResourceType, r.ResourceName}, set: make(map[string]*string)}
		for j := range r.Configs {
			all[i].keys = append(all[i].keys, r.Configs[j].Name)
			all[i].set[r.Configs[j].Name] = r.Configs[j].Value
		}
	}
	refuseTwice(all)
	for _, c := range all {
		if c.done {
			return protocol.Response{None: true}, nil
		}
	}
	for _, c := range all {
		if err := a.preprocessReplacement(c); err != nil {
			c.refuse(err)
		}
		c.removeOthers(image)
	}
	a.writeConfigs(all, body.ValidateOnly)
	return protocol.Response{Body: alterConfigsAnswer(body.Version, all)}, nil
}

// preprocessReplacement is what the broker that is asked does before the
// controller.
func (a *API) preprocessReplacement(c *configAlteration) error {
	if err := c.checkKeys(); err != nil {
		return err
	}
	var null []string
	given := make(map[string]string, len(c.set))
	for _, key := range c.keys {
		if c.set[key] == nil {
			null = append(null, key)
			continue
		}
		given[key] = *c.set[key]
	}
	if err := nullValues(null); err != nil {
		return err
	}
	switch c.resource.kind {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		return nil
	case kmsg.ConfigResourceTypeBroker:
		if c.resource.name != "" {
			if err := a.checkNode(c.resource.name); err != nil {
				return err
			}
		}
		return a.checkBrokerConfigs(c.resource.name, given)
	}
	return unknownResourceType(c.resource.kind)
}

// removeOthers adds the removal of all settings that the request leaves out.
func (c *configAlteration) removeOthers(image *metadata.Image) {
	if c.done {
		return
	}
	for key := range image.Config(c.resource.stored(), c.resource.name) {
		if _, given := c.set[key]; !given {
			c.keys = append(c.keys, key)
			c.set[key] = nil
		}
	}
}

func alterConfigsAnswer(version int16, all []*configAlteration) *kmsg.AlterConfigsResponse {
	answer := kmsg.NewPtrAlterConfigsResponse()
	answer.Version = version
	for _, c := range all {
		r := kmsg.NewAlterConfigsResponseResource()
		r.ErrorCode, r.ErrorMessage = errorCode(c.result), errorMessage(c.result)
		r.ResourceType, r.ResourceName = c.resource.kind, c.resource.name
		answer.Resources = append(answer.Resources, r)
	}
	return answer
}
