package handlers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
	"minibroker/metadata"
	"minibroker/protocol"
)

// IncrementalAlterConfigs, versions 0 and 1.
//
// Topics, brokers (this node and the default of the cluster), client metrics,
// groups and loggers. Broker settings are checked twice, as in Kafka:
// once by the rules of the broker that is asked and once by the controller's.
// Everything that passes is in force when the answer arrives.

func (a *API) incrementalAlterConfigs(_ context.Context, _ *protocol.Request, body *kmsg.IncrementalAlterConfigsRequest) (kmsg.Response, error) {
	a.configChange.Lock() // what APPEND reads must still be there when it writes
	defer a.configChange.Unlock()
	image := a.meta.Image()
	all := make([]*configAlteration, len(body.Resources))
	for i := range body.Resources {
		r := &body.Resources[i]
		all[i] = &configAlteration{resource: configResource{r.ResourceType, r.ResourceName}}
		for j := range r.Configs {
			all[i].keys = append(all[i].keys, r.Configs[j].Name)
		}
	}
	refuseTwice(all)
	for i, c := range all {
		if !c.done {
			a.preprocess(image, c, &body.Resources[i], body.ValidateOnly)
		}
	}
	a.applyOps(image, all, body.Resources)
	a.writeConfigs(all, body.ValidateOnly)

	answer := kmsg.NewPtrIncrementalAlterConfigsResponse()
	answer.Version = body.Version
	for _, c := range all {
		r := kmsg.NewIncrementalAlterConfigsResponseResource()
		r.ErrorCode, r.ErrorMessage = errorCode(c.result), errorMessage(c.result)
		r.ResourceType, r.ResourceName = c.resource.kind, c.resource.name
		answer.Resources = append(answer.Resources, r)
	}
	return answer, nil
}

// preprocess is what the broker that is asked does before the controller.
func (a *API) preprocess(image *metadata.Image, c *configAlteration, r *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) {
	if err := c.checkKeys(); err != nil {
		c.refuse(err)
		return
	}
	var null []string
	for i := range r.Configs {
		if r.Configs[i].Op != kmsg.IncrementalAlterConfigOpDelete && r.Configs[i].Value == nil {
			null = append(null, r.Configs[i].Name)
		}
	}
	if err := nullValues(null); err != nil {
		c.refuse(err)
		return
	}
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
	case kmsg.ConfigResourceTypeBrokerLogger:
		c.refuse(a.alterLogger(r, validateOnly))
	case kmsg.ConfigResourceTypeBroker:
		if err := a.preprocessBroker(image, r); err != nil {
			c.refuse(err)
		}
	default:
		c.refuse(unknownResourceType(r.ResourceType))
	}
}

// preprocessBroker checks the dynamic settings that a broker would have.
func (a *API) preprocessBroker(image *metadata.Image, r *kmsg.IncrementalAlterConfigsRequestResource) error {
	if r.ResourceName != "" {
		if err := a.checkNode(r.ResourceName); err != nil {
			return err
		}
	}
	for i := range r.Configs {
		if !knownOp(r.Configs[i].Op) {
			return &apiError{codeInvalidRequest, fmt.Sprintf("Unknown operations type %d", r.Configs[i].Op)}
		}
	}
	after := make(map[string]string)
	for key, value := range image.Config(metadata.ResourceBroker, r.ResourceName) {
		after[key] = value
	}
	for i := range r.Configs {
		op := &r.Configs[i]
		switch op.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			after[op.Name] = *op.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			delete(after, op.Name)
		default:
			if err := checkBrokerList(op); err != nil {
				return err
			}
			old, had := after[op.Name]
			after[op.Name] = alterList(op, old, had, config.BrokerDefault)
		}
	}
	return a.checkBrokerConfigs(r.ResourceName, after)
}

func knownOp(op kmsg.IncrementalAlterConfigOp) bool {
	return op >= kmsg.IncrementalAlterConfigOpSet && op <= kmsg.IncrementalAlterConfigOpSubtract
}

// checkBrokerList refuses to append to what is no list.
func checkBrokerList(op *kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	kind, known := config.BrokerType(op.Name)
	if !known {
		return &apiError{codeInvalidConfig, "Unknown config name: " + op.Name}
	}
	if kind != config.TypeList {
		verb := "append"
		if op.Op == kmsg.IncrementalAlterConfigOpSubtract {
			verb = "subtract"
		}
		return &apiError{codeInvalidConfig, "Config value " + verb + " is not allowed for config key: " + op.Name}
	}
	return nil
}

// applyOps turns the operations into values. An operation that nobody knows
// trips Kafka's controller, which then fails all that came to it.
func (a *API) applyOps(image *metadata.Image, all []*configAlteration, resources []kmsg.IncrementalAlterConfigsRequestResource) {
	tripped := false
	for i, c := range all {
		for j := range resources[i].Configs {
			tripped = tripped || !c.done && !knownOp(resources[i].Configs[j].Op)
		}
	}
	for i, c := range all {
		switch {
		case c.done:
		case tripped:
			c.refuse(&apiError{code: codeUnknownServerError})
		default:
			if err := c.apply(image, resources[i].Configs); err != nil {
				c.refuse(err)
			}
		}
	}
}

// apply computes the new value of every setting that is named.
func (c *configAlteration) apply(image *metadata.Image, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	old := image.Config(c.resource.stored(), c.resource.name)
	c.set = make(map[string]*string, len(ops))
	for i := range ops {
		op := &ops[i]
		switch op.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			c.set[op.Name] = op.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			c.set[op.Name] = nil
		default:
			if kind, known := c.resource.configType(op.Name); !known || kind != config.TypeList {
				return &apiError{codeInvalidConfig, "Can't " + op.Op.String() + " to key " + op.Name + " because its type is not LIST."}
			}
			before, had := old[op.Name]
			value := alterList(op, before, had, c.resource.configDefault)
			c.set[op.Name] = &value
		}
	}
	return nil
}

// configType is the type of a setting of this kind of resource, as far as the
// controller knows it: topics and brokers.
func (r configResource) configType(name string) (config.Type, bool) {
	switch r.kind {
	case kmsg.ConfigResourceTypeTopic:
		return config.TopicType(name)
	case kmsg.ConfigResourceTypeBroker:
		return config.BrokerType(name)
	}
	return config.TypeUnknown, false
}

func (r configResource) configDefault(name string) (string, bool) {
	if r.kind == kmsg.ConfigResourceTypeTopic {
		return config.TopicDefault(name)
	}
	return config.BrokerDefault(name)
}

// alterList appends to or subtracts from a list; a list that is not set begins
// with its default.
func alterList(op *kmsg.IncrementalAlterConfigsRequestResourceConfig, old string, had bool, defaultOf func(string) (string, bool)) string {
	if !had {
		old, _ = defaultOf(op.Name)
	}
	words := slices.DeleteFunc(strings.Split(old, ","), func(w string) bool { return w == "" })
	for _, w := range strings.Split(*op.Value, ",") {
		i := slices.Index(words, w)
		switch {
		case op.Op == kmsg.IncrementalAlterConfigOpAppend && i < 0:
			words = append(words, w)
		case op.Op == kmsg.IncrementalAlterConfigOpSubtract && i >= 0:
			words = slices.Delete(words, i, i+1)
		}
	}
	return strings.Join(words, ",")
}
