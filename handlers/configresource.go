package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
	"minibroker/metadata"
)

// configResource is a thing that has settings, as the requests about configs
// name it.
type configResource struct {
	kind kmsg.ConfigResourceType
	name string
}

// maxConfigValue is the longest value that the metadata log takes, in UTF-16
// units.
const maxConfigValue = 32767

// stored is where the metadata log keeps the settings of r.
func (r configResource) stored() metadata.ResourceKind {
	switch r.kind {
	case kmsg.ConfigResourceTypeTopic:
		return metadata.ResourceTopic
	case kmsg.ConfigResourceTypeClientMetrics:
		return metadata.ResourceClientMetrics
	case kmsg.ConfigResourceTypeGroupConfig:
		return metadata.ResourceGroup
	}
	return metadata.ResourceBroker
}

// configAlteration is what one request changes about one resource.
type configAlteration struct {
	resource configResource
	keys     []string // names in the request, in order
	set      map[string]*string
	result   error
	done     bool // result stands, nothing goes to the metadata log
}

// refuseTwice marks the resources that a request has more than once.
func refuseTwice(all []*configAlteration) {
	count := make(map[configResource]int, len(all))
	for _, c := range all {
		count[c.resource]++
	}
	for _, c := range all {
		if count[c.resource] > 1 {
			c.refuse(&apiError{codeInvalidRequest, "Each resource must appear at most once."})
		}
	}
}

func (c *configAlteration) refuse(err error) {
	c.result, c.done = err, true
}

// checkKeys refuses names that are given twice.
func (c *configAlteration) checkKeys() error {
	for i, key := range c.keys {
		if slices.Contains(c.keys[:i], key) {
			return &apiError{codeInvalidRequest, "Error due to duplicate config keys"}
		}
	}
	return nil
}

func nullValues(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return &apiError{codeInvalidRequest, "Null value not supported for : " + strings.Join(names, ", ")}
}

func unknownResourceType(kind kmsg.ConfigResourceType) error {
	return &apiError{codeInvalidRequest, fmt.Sprintf("Unknown resource type %d", kind)}
}

// checkNode refuses a broker resource that is not this node.
func (a *API) checkNode(name string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return &apiError{codeInvalidRequest, "Node id must be an integer, but it is: " + name}
	}
	if int32(id) != a.config.NodeID() {
		return &apiError{codeInvalidRequest, fmt.Sprintf("Unexpected broker id, expected %d, but received %s", a.config.NodeID(), name)}
	}
	return nil
}

// checkBrokerConfigs checks the dynamic settings that a broker resource would
// have after a change. All mistakes are the request's, as far as Kafka goes.
func (a *API) checkBrokerConfigs(name string, configs map[string]string) error {
	if err := a.layers().CheckBroker(configs, name != ""); err != nil {
		return &apiError{codeInvalidRequest, err.Error()}
	}
	return nil
}

// settle is what Kafka's controller does with a change that has passed the
// broker's checks: it compares it with what is there, checks the whole and
// returns what is to be written. Unchanged settings are not, except those of
// brokers, where writing them again makes brokers look at them again.
func (a *API) settle(image *metadata.Image, c *configAlteration) ([]metadata.ConfigChange, error) {
	kind := c.resource.stored()
	old := image.Config(kind, c.resource.name)
	after := make(map[string]string, len(old)+len(c.set))
	for key, value := range old {
		after[key] = value
	}
	var changes []metadata.ConfigChange
	for _, key := range c.keys {
		value := c.set[key]
		before, had := old[key]
		same := value == nil && !had || value != nil && had && *value == before
		if same && kind != metadata.ResourceBroker {
			continue
		}
		if err := checkChange(c.resource, key, value); err != nil {
			return nil, err
		}
		delete(after, key)
		if value != nil {
			after[key] = *value
		}
		changes = append(changes, metadata.ConfigChange{Kind: kind, Name: c.resource.name, Key: key, Value: value})
	}
	if err := a.checkResource(c.resource, after); err != nil {
		return nil, err
	}
	if kind == metadata.ResourceTopic {
		if _, ok := image.Topic(c.resource.name); !ok {
			return nil, &apiError{codeUnknownTopicOrPartition, "The topic '" + c.resource.name + "' does not exist."}
		}
	}
	return changes, nil
}

// checkChange refuses what can never be written.
func checkChange(r configResource, key string, value *string) error {
	minISR := r.kind == kmsg.ConfigResourceTypeBroker && key == "min.insync.replicas"
	switch {
	case minISR && r.name != "":
		return &apiError{codeInvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."}
	case minISR && value == nil:
		return &apiError{codeInvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."}
	case value != nil && javaLength(*value) > maxConfigValue:
		return &apiError{codeInvalidConfig, "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."}
	}
	return nil
}

// checkResource checks the name of a resource and all its settings together.
func (a *API) checkResource(r configResource, configs map[string]string) error {
	settings := a.layers()
	switch r.kind {
	case kmsg.ConfigResourceTypeTopic:
		if r.name == "" {
			return &apiError{codeInvalidRequest, "Default topic resources are not allowed."}
		}
		if err := checkTopicName(r.name); err != nil {
			return err
		}
		return refusedConfig(settings.CheckTopic(configs))
	case kmsg.ConfigResourceTypeClientMetrics:
		if r.name == "" {
			return &apiError{codeInvalidRequest, "Subscription name can't be empty"}
		}
		return refusedConfig(settings.CheckClientMetrics(configs))
	case kmsg.ConfigResourceTypeGroupConfig:
		if r.name == "" {
			return &apiError{codeInvalidRequest, "Default group resources are not allowed."}
		}
		return refusedConfig(settings.CheckGroup(configs))
	}
	return nil
}

// refusedConfig gives the error of a refused setting its code.
func refusedConfig(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, config.ErrInvalidRequest):
		return &apiError{codeInvalidRequest, err.Error()}
	}
	return &apiError{codeInvalidConfig, err.Error()}
}

// writeConfigs settles the changes that passed the broker's checks and writes
// those that pass the controller's, all at once.
func (a *API) writeConfigs(all []*configAlteration, validateOnly bool) {
	image := a.meta.Image()
	var changes []metadata.ConfigChange
	for _, c := range all {
		if c.done {
			continue
		}
		more, err := a.settle(image, c)
		if err != nil {
			c.refuse(err)
			continue
		}
		changes = append(changes, more...)
	}
	if validateOnly || len(changes) == 0 {
		return
	}
	if err := a.meta.AlterConfigs(changes); err != nil {
		a.log.Error("configs were not written", "error", err)
		for _, c := range all {
			if !c.done {
				c.refuse(changeError(err))
			}
		}
	}
}
