package handlers

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
	"minibroker/metadata"
)

// CreateMissing creates the topics that do not exist yet, by the rules of a
// CreateTopics request. Those that exist are left as they are. The error names
// every topic that could not be created and why; the others are there.
func (a *API) CreateMissing(topics []config.StartTopic) error {
	image := a.meta.Image()
	var requests []*kmsg.CreateTopicsRequestTopic
	for _, t := range topics {
		if _, exists := image.Topic(t.Name); exists {
			continue
		}
		requests = append(requests, startRequest(t))
	}
	if len(requests) == 0 {
		return nil
	}
	if err := a.checkCreateTopics(1, requests); err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	var plans []metadata.NewTopic
	var errs []error
	for _, t := range requests {
		plan, err := a.planTopic(image, t)
		if err != nil {
			errs = append(errs, fmt.Errorf("create topic %s: %w", t.Topic, err))
			continue
		}
		plans = append(plans, plan)
	}
	for i, err := range a.createPlanned(plans) {
		if err != nil && !errors.Is(err, metadata.ErrTopicExists) {
			errs = append(errs, fmt.Errorf("create topic %s: %w", plans[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// startRequest is the topic as a client would ask for it.
func startRequest(t config.StartTopic) *kmsg.CreateTopicsRequestTopic {
	r := kmsg.NewCreateTopicsRequestTopic()
	r.Topic, r.NumPartitions, r.ReplicationFactor = t.Name, int32(t.Partitions), 1
	if t.Partitions == 0 {
		r.NumPartitions = -1
	}
	for _, name := range slices.Sorted(maps.Keys(t.Configs)) {
		value := t.Configs[name]
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, &value
		r.Configs = append(r.Configs, c)
	}
	return &r
}
