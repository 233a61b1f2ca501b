package handlers

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// CreatePartitions, versions 0 to 3.
//
// Partitions are only added, all on this node. Manual assignments are checked
// as Kafka does. Topics are grown one after another; a mistake in one does not
// hold up the next.

func (a *API) createPartitions(_ context.Context, req *protocol.Request, body *kmsg.CreatePartitionsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrCreatePartitionsResponse()
	answer.Version = body.Version
	image := a.meta.Image()
	count := make(map[string]int, len(body.Topics))
	for i := range body.Topics {
		count[body.Topics[i].Topic]++
	}
	mutations := a.mutationsOf(req, 3)
	refused := checkAddition(image, body, count)
	for i := range body.Topics {
		t := &body.Topics[i]
		err := refused
		switch {
		case err != nil:
		case count[t.Topic] == 0:
			continue // answered before
		case count[t.Topic] > 1:
			err = &apiError{codeInvalidRequest, "Duplicate topic name."}
			count[t.Topic] = 0
		default:
			err = a.growTopic(image, t, body.ValidateOnly, mutations)
		}
		result := kmsg.NewCreatePartitionsResponseTopic()
		result.Topic = t.Topic
		result.ErrorCode, result.ErrorMessage = errorCode(err), errorMessage(err)
		answer.Topics = append(answer.Topics, result)
	}
	answer.ThrottleMillis = mutations.throttle()
	return answer, nil
}

// checkAddition returns what refuses a whole request: a timeout that is over
// before it began, or too many partitions.
func checkAddition(image *metadata.Image, body *kmsg.CreatePartitionsRequest, count map[string]int) error {
	if body.TimeoutMillis <= 0 {
		return &apiError{code: codeRequestTimedOut}
	}
	total := int64(0)
	for i := range body.Topics {
		t := &body.Topics[i]
		if topic, ok := image.Topic(t.Topic); ok && count[t.Topic] == 1 {
			total += max(0, int64(t.Count)-int64(len(topic.Partitions)))
		}
	}
	if total > maxPartitionsPerRequest {
		return &apiError{codePolicyViolation, "Excessively large number of additional partitions per request."}
	}
	return nil
}

// growTopic checks the wish for one topic and fulfils it unless nothing but the
// check was asked for.
func (a *API) growTopic(image *metadata.Image, t *kmsg.CreatePartitionsRequestTopic, validateOnly bool, mutations *mutationQuota) error {
	topic, ok := image.Topic(t.Topic)
	if !ok {
		return &apiError{code: codeUnknownTopicOrPartition}
	}
	have := len(topic.Partitions)
	switch {
	case int(t.Count) == have:
		return &apiError{codeInvalidPartitions, fmt.Sprintf("Topic already has %d partition(s).", have)}
	case int(t.Count) < have:
		return &apiError{codeInvalidPartitions,
			fmt.Sprintf("The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, have, t.Count)}
	}
	factor := len(topic.Partitions[0].Replicas)
	if t.Assignment == nil && factor > 1 {
		return &apiError{codeInvalidReplicationFactor, unreachableFactor(factor)}
	}
	if t.Assignment == nil && a.isFullyCordoned() {
		return &apiError{codeInvalidReplicationFactor, fullyCordoned}
	}
	if added := int(t.Count) - have; t.Assignment != nil && len(t.Assignment) != added {
		return &apiError{codeInvalidReplicaAssignment,
			fmt.Sprintf("Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", added, len(t.Assignment))}
	}
	if err := mutations.take(int(t.Count) - have); err != nil {
		return err
	}
	for i := range t.Assignment {
		if err := a.checkReplicas(t.Assignment[i].Replicas, factor); err != nil {
			return err
		}
	}
	if validateOnly {
		return nil
	}
	return changeError(a.meta.CreatePartitions(t.Topic, int(t.Count)))
}
