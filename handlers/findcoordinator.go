package handlers

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// FindCoordinator, versions 0 to 6.
//
// This node coordinates everything. The first question for a kind of
// coordinator creates the topic that its state is kept in, with Kafka's counts
// and settings. Kafka answers that first question with COORDINATOR_NOT_AVAILABLE
// while the topic comes into being; here its partitions are led before the
// answer, so the first answer is already the node. That goes for everyone who
// asks meanwhile: an answer that was too early would send the client to a
// coordinator that says NOT_COORDINATOR, which some give to the application.

// Kinds of coordinators, as requests number them.
const (
	groupCoordinator       int8 = 0
	transactionCoordinator int8 = 1
	shareCoordinator       int8 = 2
)

func (a *API) findCoordinator(_ context.Context, req *protocol.Request, body *kmsg.FindCoordinatorRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrFindCoordinatorResponse()
	answer.Version = body.Version
	if body.Version < 4 {
		a.answerCoordinator(answer, req.Listener, body)
		return answer, nil
	}
	for _, key := range body.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key = key
		endpoint, err := a.coordinator(req.Listener, body.Version, body.CoordinatorType, key)
		c.ErrorCode = errorCode(err)
		text := ""
		if own := errorMessage(err); own != nil {
			text = *own
		}
		c.ErrorMessage = &text
		c.NodeID, c.Host, c.Port = a.node(endpoint, err)
		answer.Coordinators = append(answer.Coordinators, c)
	}
	return answer, nil
}

// answerCoordinator fills in the answer of versions 0 to 3, which has one
// coordinator and says "NONE" where there is no error.
func (a *API) answerCoordinator(answer *kmsg.FindCoordinatorResponse, listener string, body *kmsg.FindCoordinatorRequest) {
	kind := body.CoordinatorType
	if body.Version < 1 {
		kind = groupCoordinator
	}
	endpoint, err := a.coordinator(listener, body.Version, kind, body.CoordinatorKey)
	answer.ErrorCode = errorCode(err)
	text := "NONE"
	if err != nil {
		text = usualMessage(answer.ErrorCode)
	}
	answer.ErrorMessage = &text
	answer.NodeID, answer.Host, answer.Port = a.node(endpoint, err)
}

// node is the node of an answer: none after an error.
func (a *API) node(endpoint Endpoint, err error) (id int32, host string, port int32) {
	if err != nil {
		return -1, "", -1
	}
	return a.config.NodeID(), endpoint.Host, endpoint.Port
}

// coordinator returns the address of the coordinator of a key, after making
// sure that its topic is there.
func (a *API) coordinator(listener string, version int16, kind int8, key string) (Endpoint, error) {
	topic := ""
	switch kind {
	case groupCoordinator:
		topic = offsetsTopic
	case transactionCoordinator:
		topic = transactionTopic
	case shareCoordinator:
		if version < 6 || !sharePartitionKey(key) {
			return Endpoint{}, &apiError{code: codeInvalidRequest}
		}
		topic = shareStateTopic
	default:
		return Endpoint{}, usualError(codeInvalidRequest)
	}
	if err := a.settledTopic(topic); err != nil {
		a.log.Error("a coordinator has no topic to keep its state in", "topic", topic, "error", err)
		return Endpoint{}, &apiError{code: codeCoordinatorNotAvailable}
	}
	endpoint, ok := a.advertised(listener)
	if !ok {
		return Endpoint{}, &apiError{code: codeCoordinatorNotAvailable}
	}
	if kind == groupCoordinator && a.groups != nil {
		a.groups.Sought(key)
	}
	return endpoint, nil
}

// settledTopic makes sure that a topic is there and its partitions are led. Of
// two requests that create it at the same time one comes too late, and waits for
// the other.
func (a *API) settledTopic(name string) error {
	if _, ok := a.meta.Settled().Topic(name); ok {
		return nil
	}
	var err error
	if _, ok := a.meta.Image().Topic(name); !ok {
		err = a.autoCreate(&mutationQuota{}, name)
	}
	if settling := a.meta.Settle(); settling != nil {
		return errors.Join(err, settling)
	}
	if _, ok := a.meta.Settled().Topic(name); ok {
		return nil
	}
	if err == nil { // deleted again meanwhile
		err = metadata.ErrUnknownTopic
	}
	return err
}

// sharePartitionKey says whether key has the form group:topic id:partition. The
// group may have colons of its own.
func sharePartitionKey(key string) bool {
	parts := strings.Split(key, ":")
	n := len(parts)
	if n < 3 || strings.TrimSpace(strings.Join(parts[:n-2], ":")) == "" {
		return false
	}
	if _, err := logstore.ParseUUID(parts[n-2]); err != nil {
		return false
	}
	_, err := strconv.ParseInt(parts[n-1], 10, 32)
	return err == nil
}
