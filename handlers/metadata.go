package handlers

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// Metadata, versions 0 to 13.
//
// The one broker of the answer is this node, under the advertised address of
// the listener that was asked. A topic that is not there is created when the
// request and auto.create.topics.enable allow it; as in Kafka that answer still
// says UNKNOWN_TOPIC_OR_PARTITION, and the client's next request finds it. The
// difference is that here it is there before the answer is sent.

// Authorized operations of a cluster without an authorizer: one bit for each
// operation that the kind of resource has.
const (
	clusterOperations int32 = 8096
	topicOperations   int32 = 3576
)

func (a *API) metadata(_ context.Context, req *protocol.Request, body *kmsg.MetadataRequest) (kmsg.Response, error) {
	image := a.meta.Image()
	if code := checkMetadataTopics(body); code != codeNone {
		return refuseMetadata(body, code), nil
	}
	answer := kmsg.NewPtrMetadataResponse()
	answer.Version = body.Version
	all := body.Topics == nil || len(body.Topics) == 0 && body.Version == 0
	view := a.partitionView(req.Listener, body.Version)
	if all {
		answer.Topics = view.topics(image.Topics())
	} else {
		answer.Topics = a.wantedTopics(req, image, view, body)
	}
	if body.Version >= 8 && body.IncludeTopicAuthorizedOperations {
		for i := range answer.Topics {
			if answer.Topics[i].ErrorCode != codeUnknownTopicID {
				answer.Topics[i].AuthorizedOperations = topicOperations
			}
		}
	}
	if body.Version >= 8 && body.IncludeClusterAuthorizedOperations {
		answer.AuthorizedOperations = clusterOperations
	}
	answer.ClusterID = &image.ClusterID
	answer.ControllerID = a.config.NodeID()
	if view.reachable {
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host, broker.Port = a.config.NodeID(), view.endpoint.Host, view.endpoint.Port
		broker.Rack = a.rack()
		answer.Brokers = append(answer.Brokers, broker)
	}
	return answer, nil
}

// rack is the node's broker.rack, nil when it has none.
func (a *API) rack() *string {
	if rack := a.config.String("broker.rack"); rack != "" {
		return &rack
	}
	return nil
}

// checkMetadataTopics returns the code for a request that Kafka refuses as a
// whole.
func checkMetadataTopics(body *kmsg.MetadataRequest) int16 {
	for i := range body.Topics {
		t := &body.Topics[i]
		switch {
		case body.Version < 12 && (t.Topic == nil || t.TopicID != [16]byte{}):
			return codeInvalidRequest // topics by id come with version 12
		case t.Topic == nil && t.TopicID == [16]byte{} && !anyTopicID(body.Topics):
			return codeUnknownServerError // Kafka trips over the missing name
		}
	}
	return codeNone
}

func anyTopicID(topics []kmsg.MetadataRequestTopic) bool {
	for i := range topics {
		if topics[i].TopicID != [16]byte{} {
			return true
		}
	}
	return false
}

// refuseMetadata answers every topic with code and nothing else.
func refuseMetadata(body *kmsg.MetadataRequest, code int16) *kmsg.MetadataResponse {
	answer := kmsg.NewPtrMetadataResponse()
	answer.Version = body.Version
	answer.ControllerID = -1
	answer.ErrorCode = code
	for i := range body.Topics {
		name := ""
		if body.Topics[i].Topic != nil {
			name = *body.Topics[i].Topic
		}
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = code, &name, body.Topics[i].TopicID
		answer.Topics = append(answer.Topics, t)
	}
	return answer
}

// wantedTopics answers the topics of a request, each once. When the request
// has ids, Kafka looks at nothing but these.
func (a *API) wantedTopics(req *protocol.Request, image *metadata.Image, view partitionView, body *kmsg.MetadataRequest) []kmsg.MetadataResponseTopic {
	if anyTopicID(body.Topics) {
		return topicsByID(image, view, body.Topics)
	}
	answers := make([]kmsg.MetadataResponseTopic, 0, len(body.Topics))
	seen := make(map[string]bool, len(body.Topics))
	var missing []string
	for i := range body.Topics {
		name := *body.Topics[i].Topic
		if seen[name] {
			continue
		}
		seen[name] = true
		if t, ok := image.Topic(name); ok {
			answers = append(answers, view.topic(t))
		} else {
			missing = append(missing, name)
		}
	}
	create := body.Version < 4 || body.AllowAutoTopicCreation
	return append(answers, a.missingTopics(req, missing, create)...)
}

func topicsByID(image *metadata.Image, view partitionView, wanted []kmsg.MetadataRequestTopic) []kmsg.MetadataResponseTopic {
	var answers []kmsg.MetadataResponseTopic
	seen := make(map[[16]byte]bool, len(wanted))
	for i := range wanted {
		id := wanted[i].TopicID
		if id == [16]byte{} || seen[id] {
			continue
		}
		seen[id] = true
		if t, ok := image.TopicByID(logstore.UUID(id)); ok {
			answers = append(answers, view.topic(t))
			continue
		}
		unknown := kmsg.NewMetadataResponseTopic()
		unknown.ErrorCode, unknown.TopicID = codeUnknownTopicID, id
		answers = append(answers, unknown)
	}
	return answers
}

// missingTopics answers names that no topic has, after creating those that may
// be created. A creation that is not possible is not the client's error, as in
// Kafka, where the answer is on its way by then.
func (a *API) missingTopics(req *protocol.Request, names []string, create bool) []kmsg.MetadataResponseTopic {
	answers := make([]kmsg.MetadataResponseTopic, 0, len(names))
	var creatable []string
	for _, name := range names {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = &name
		t.IsInternal = isInternalTopic(name)
		t.ErrorCode = codeUnknownTopicOrPartition
		if checkTopicName(name) != nil {
			t.ErrorCode = codeInvalidTopicException
		} else {
			creatable = append(creatable, name)
		}
		answers = append(answers, t)
	}
	if create && len(creatable) > 0 && a.layers().Bool("auto.create.topics.enable") {
		if err := a.autoCreate(a.mutationsOf(req, 0), creatable...); err != nil {
			// A client asks for the same name again and again: not a line in the log each time.
			a.log.Debug("topics were not created automatically", "error", err)
		}
	}
	return answers
}

// partitionView turns partitions of the image into those of an answer, as seen
// by a client of one listener.
type partitionView struct {
	image     *metadata.Image
	nodeID    int32
	endpoint  Endpoint
	reachable bool // the listener has an advertised address
	version   int16
}

func (a *API) partitionView(listener string, version int16) partitionView {
	endpoint, ok := a.advertised(listener)
	return partitionView{image: a.meta.Image(), nodeID: a.config.NodeID(), endpoint: endpoint, reachable: ok, version: version}
}

func (v partitionView) topics(topics []*metadata.Topic) []kmsg.MetadataResponseTopic {
	total := 0
	for _, t := range topics {
		total += len(t.Partitions)
	}
	room := make([]kmsg.MetadataResponseTopicPartition, total) // one piece of memory for thousands of topics
	answers := make([]kmsg.MetadataResponseTopic, 0, len(topics))
	for _, t := range topics {
		n := len(t.Partitions)
		answers = append(answers, v.topicIn(t, room[:n:n]))
		room = room[n:]
	}
	return answers
}

func (v partitionView) topic(t *metadata.Topic) kmsg.MetadataResponseTopic {
	return v.topicIn(t, make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions)))
}

// topicIn shows a topic, with its partitions in room.
func (v partitionView) topicIn(t *metadata.Topic, room []kmsg.MetadataResponseTopicPartition) kmsg.MetadataResponseTopic {
	answer := kmsg.NewMetadataResponseTopic()
	answer.Topic = &t.Name
	answer.TopicID = t.ID
	answer.IsInternal = isInternalTopic(t.Name)
	for i := range t.Partitions {
		room[i] = v.partition(&t.Partitions[i])
	}
	answer.Partitions = room
	return answer
}

// partition shows one partition. Another leader than this node can only come
// from a directory that was part of a bigger cluster: that leader is not alive.
func (v partitionView) partition(p *metadata.Partition) kmsg.MetadataResponseTopicPartition {
	answer := kmsg.NewMetadataResponseTopicPartition()
	answer.Partition = p.ID
	answer.Leader = p.Leader
	answer.LeaderEpoch = p.LeaderEpoch
	answer.Replicas = p.Replicas
	answer.ISR = p.ISR
	answer.OfflineReplicas = v.offline(p)
	if v.version == 0 { // version 0 leaves out what cannot be reached
		answer.Replicas, answer.ISR = v.online(p.Replicas), v.online(p.ISR)
	}
	switch {
	case p.Leader != v.nodeID:
		answer.Leader = -1
		answer.ErrorCode = codeLeaderNotAvailable
	case !v.reachable:
		answer.Leader = -1
		answer.ErrorCode = codeLeaderNotAvailable
		if v.version >= 6 {
			answer.ErrorCode = codeListenerNotFound
		}
	case len(answer.Replicas) < len(p.Replicas) || len(answer.ISR) < len(p.ISR):
		answer.ErrorCode = codeReplicaNotAvailable
	}
	return answer
}

// offline returns the replicas that no client can reach: all but this node, and
// this node's too if it lies in a log dir that failed.
func (v partitionView) offline(p *metadata.Partition) []int32 {
	replicas := p.Replicas
	reachable := v.reachable && (p.Leader == v.nodeID || !v.image.InOfflineDirectory(p))
	if reachable && len(replicas) == 1 && replicas[0] == v.nodeID {
		return nil // the usual case allocates nothing
	}
	var offline []int32
	for _, id := range replicas {
		if id != v.nodeID || !reachable {
			offline = append(offline, id)
		}
	}
	return offline
}

func (v partitionView) online(replicas []int32) []int32 {
	if v.reachable && len(replicas) == 1 && replicas[0] == v.nodeID {
		return replicas
	}
	for _, id := range replicas {
		if id == v.nodeID && v.reachable {
			return []int32{id}
		}
	}
	return nil
}

// autoCreate creates topics that nobody asked for by CreateTopics: internal ones
// with their own settings, all others with num.partitions and the defaults. The
// limits of a CreateTopics request hold here too.
func (a *API) autoCreate(mutations *mutationQuota, names ...string) error {
	topics := make([]*kmsg.CreateTopicsRequestTopic, len(names))
	for i, name := range names {
		topics[i] = a.implicitTopic(name)
	}
	if err := a.checkCreateTopics(1, topics); err != nil {
		return err
	}
	image := a.meta.Image()
	var plans []metadata.NewTopic
	var errs []error
	for _, t := range topics {
		plan, err := a.planTopic(image, t)
		if err == nil {
			err = mutations.take(max(plan.Partitions, len(plan.Assignments)))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("create topic %s: %w", t.Topic, err))
			continue
		}
		plans = append(plans, plan)
	}
	for i, err := range a.createPlanned(plans) {
		if err != nil {
			errs = append(errs, fmt.Errorf("create topic %s: %w", plans[i].Name, err))
		}
	}
	return errors.Join(errs...)
}
