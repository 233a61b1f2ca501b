package handlers

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kbin"
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
	d := configDescriber{a: a, body: body, image: a.meta.Image(), settings: a.layers(), refused: checkDescribable(body.Resources)}
	answer := kmsg.NewPtrDescribeConfigsResponse()
	answer.Version = body.Version
	return &describedConfigs{answer, body.Resources, d.resource, mostDescribed}, nil
}

// mostDescribed is how long an answer may get, in bytes, before resources are
// refused: a request of a few bytes for each resource is answered with kilobytes.
const mostDescribed = 256 << 20

// describedConfigs is an answer whose resources are made one by one while it is
// encoded: what is known of thousands of topics takes no more memory than its
// bytes.
type describedConfigs struct {
	*kmsg.DescribeConfigsResponse // without resources
	asked                         []kmsg.DescribeConfigsRequestResource
	resource                      func(i int) kmsg.DescribeConfigsResponseResource
	most                          int // bytes
}

// AppendTo encodes the answer: the time that the client is throttled for, a list
// of resources, and from version 4 on tags. Each resource is cut out of an answer
// that has no other.
func (d *describedConfigs) AppendTo(dst []byte) []byte {
	one := kmsg.DescribeConfigsResponse{Version: d.Version, Resources: make([]kmsg.DescribeConfigsResponseResource, 1)}
	dst = binary.BigEndian.AppendUint32(dst, uint32(d.ThrottleMillis))
	before, after := 4+4, 0
	if d.IsFlexible() {
		before, after = 4+1, 1
		dst = kbin.AppendUvarint(dst, uint32(len(d.asked)+1))
	} else {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(d.asked)))
	}
	least, begin := math.MaxInt, len(dst)
	for i := range d.asked {
		start := len(dst)
		if start-begin < d.most {
			one.Resources[0] = d.resource(i)
		} else {
			one.Resources[0] = d.tooMuch(i)
		}
		dst = one.AppendTo(dst)
		dst = append(dst[:start], dst[start+before:len(dst)-after]...)
		if least = min(least, len(dst)-start); i == 1 {
			// The others are mostly as long: growing step by step would take twice the memory.
			dst = slices.Grow(dst, min((len(d.asked)-2)*(least+least/10), d.most))
		}
	}
	if d.IsFlexible() {
		dst = append(dst, 0)
	}
	return dst
}

// tooMuch refuses a resource for which the answer has no room.
func (d *describedConfigs) tooMuch(i int) kmsg.DescribeConfigsResponseResource {
	r := kmsg.NewDescribeConfigsResponseResource()
	r.ResourceType, r.ResourceName = d.asked[i].ResourceType, d.asked[i].ResourceName
	text := "Too many resources: ask for fewer at a time."
	r.ErrorCode, r.ErrorMessage = codeInvalidRequest, &text
	return r
}

// configDescriber describes the resources of one request, all as they were when it came.
type configDescriber struct {
	a        *API
	body     *kmsg.DescribeConfigsRequest
	image    *metadata.Image
	settings config.Layers
	refused  error // of all of them

	configs []kmsg.DescribeConfigsResponseResourceConfig // of the last one
}

// resource describes a resource of the request. Its settings are overwritten by
// those of the next.
func (d *configDescriber) resource(i int) kmsg.DescribeConfigsResponseResource {
	asked := &d.body.Resources[i]
	entries, err := []config.Entry(nil), d.refused
	if err == nil {
		entries, err = d.describe(configResource{asked.ResourceType, asked.ResourceName})
	}
	r := kmsg.NewDescribeConfigsResponseResource()
	r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
	text := ""
	if own := errorMessage(err); own != nil {
		text = *own
	}
	r.ErrorCode, r.ErrorMessage = errorCode(err), &text
	d.configs = d.configs[:0]
	for j := range entries {
		if len(asked.ConfigNames) == 0 || slices.Contains(asked.ConfigNames, entries[j].Name) {
			d.configs = append(d.configs, describedConfig(&entries[j], d.body))
		}
	}
	r.Configs = d.configs
	return r
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
func (d *configDescriber) describe(r configResource) ([]config.Entry, error) {
	a, image, settings := d.a, d.image, d.settings
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
