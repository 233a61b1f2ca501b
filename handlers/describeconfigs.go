package handlers

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
	"minibroker/metadata"
	"minibroker/protocol"
)

// DescribeConfigs, versions 1 to 4.
//
// Topics, this node ("1" or whatever its id is), the dynamic default of the
// cluster (""), loggers, client metrics and groups. An empty list of
// names means all, as null does. Documentation is minibroker's own text, or
// null where there is none: Apache's sentences are not copied.

func (a *API) describeConfigs(_ context.Context, _ *protocol.Request, body *kmsg.DescribeConfigsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeConfigsResponse()
	answer.Version = body.Version
	refused := checkDescribable(body.Resources)
	for i := range body.Resources {
		asked := &body.Resources[i]
		entries, err := []config.Entry(nil), refused
		if err == nil {
			entries, err = a.describe(configResource{asked.ResourceType, asked.ResourceName})
		}
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
		text := ""
		if own := errorMessage(err); own != nil {
			text = *own
		}
		r.ErrorCode, r.ErrorMessage = errorCode(err), &text
		for j := range entries {
			if len(asked.ConfigNames) == 0 || slices.Contains(asked.ConfigNames, entries[j].Name) {
				r.Configs = append(r.Configs, describedConfig(&entries[j], body))
			}
		}
		answer.Resources = append(answer.Resources, r)
	}
	return answer, nil
}

// checkDescribable refuses a request with a kind of resource that nobody knows:
// as a whole, as Kafka does.
func checkDescribable(resources []kmsg.DescribeConfigsRequestResource) error {
	for i := range resources {
		switch resources[i].ResourceType {
		case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
			kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		default:
			return usualError(codeInvalidRequest)
		}
	}
	return nil
}

// describe returns all settings of one resource.
func (a *API) describe(r configResource) ([]config.Entry, error) {
	image := a.meta.Image()
	settings := a.layers()
	switch r.kind {
	case kmsg.ConfigResourceTypeTopic:
		if err := checkTopicName(r.name); err != nil {
			return nil, err
		}
		if _, ok := image.Topic(r.name); !ok {
			return nil, &apiError{code: codeUnknownTopicOrPartition}
		}
		return settings.DescribeTopic(image.Config(metadata.ResourceTopic, r.name)), nil
	case kmsg.ConfigResourceTypeBroker:
		if r.name == "" {
			return settings.DescribeBroker(false), nil
		}
		if err := a.checkDescribedNode(r.name, " or empty string,"); err != nil {
			return nil, err
		}
		return settings.DescribeBroker(true), nil
	case kmsg.ConfigResourceTypeBrokerLogger:
		if r.name == "" {
			return nil, &apiError{codeInvalidRequest, "Broker id must not be empty"}
		}
		if err := a.checkDescribedNode(r.name, ""); err != nil {
			return nil, err
		}
		return a.describeLoggers(), nil
	case kmsg.ConfigResourceTypeClientMetrics:
		if r.name == "" {
			return nil, &apiError{codeInvalidRequest, "Client metrics subscription name must not be empty"}
		}
		return settings.DescribeClientMetrics(image.Config(metadata.ResourceClientMetrics, r.name)), nil
	}
	if r.name == "" {
		return nil, &apiError{codeInvalidRequest, "Group name must not be empty"}
	}
	return settings.DescribeGroup(image.Config(metadata.ResourceGroup, r.name)), nil
}

// checkDescribedNode is checkNode with the words that DescribeConfigs has.
func (a *API) checkDescribedNode(name, alternative string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return &apiError{codeInvalidRequest, "Broker id must be an integer, but it is: " + name}
	}
	if int32(id) != a.config.NodeID() {
		return &apiError{codeInvalidRequest,
			fmt.Sprintf("Unexpected broker id, expected %d%s but received %s", a.config.NodeID(), alternative, name)}
	}
	return nil
}

// describedConfig is one setting as the request wants to see it.
func describedConfig(e *config.Entry, body *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.ReadOnly, c.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	c.Source, c.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	if body.IncludeSynonyms {
		for i := range e.Synonyms {
			s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			s.Name, s.Value, s.Source = e.Synonyms[i].Name, e.Synonyms[i].Value, kmsg.ConfigSource(e.Synonyms[i].Source)
			c.ConfigSynonyms = append(c.ConfigSynonyms, s)
		}
	}
	if e.Source == config.SourceBrokerLogger || body.IncludeDocumentation && e.Doc != "" {
		c.Documentation = &e.Doc
	}
	return c
}
