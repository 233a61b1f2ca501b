package handlers

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// ListConfigResources, versions 0 and 1.
//
// Topics, this node as broker and as keeper of loggers, and the client metrics
// subscriptions and groups that have settings. Version 0 knows client metrics
// only. Without types, version 1 lists all.

func (a *API) listConfigResources(_ context.Context, _ *protocol.Request, body *kmsg.ListConfigResourcesRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrListConfigResourcesResponse()
	answer.Version = body.Version
	all := []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics,
		kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic}
	var types []kmsg.ConfigResourceType
	for _, t := range body.ResourceTypes {
		if !slices.Contains(all, kmsg.ConfigResourceType(t)) {
			answer.ErrorCode = codeUnsupportedVersion
			return answer, nil
		}
		if !slices.Contains(types, kmsg.ConfigResourceType(t)) {
			types = append(types, kmsg.ConfigResourceType(t))
		}
	}
	if body.Version == 0 {
		types = []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeClientMetrics}
	} else if len(types) == 0 {
		types = all
	}
	for _, t := range types {
		for _, name := range a.configResources(t) {
			r := kmsg.NewListConfigResourcesResponseConfigResource()
			r.Name, r.Type = name, int8(t)
			answer.ConfigResources = append(answer.ConfigResources, r)
		}
	}
	return answer, nil
}

// configResources lists the names of the resources of one type.
func (a *API) configResources(t kmsg.ConfigResourceType) []string {
	image := a.meta.Image()
	var names []string
	switch t {
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		return []string{strconv.Itoa(int(a.config.NodeID()))}
	case kmsg.ConfigResourceTypeTopic:
		for _, topic := range image.Topics() {
			names = append(names, topic.Name)
		}
		return names
	}
	kind := metadata.ResourceGroup
	if t == kmsg.ConfigResourceTypeClientMetrics {
		kind = metadata.ResourceClientMetrics
	}
	for r := range image.Configs() {
		if r.Kind == kind {
			names = append(names, r.Name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
