package handlers

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// DeleteTopics, versions 1 to 6.
//
// Up to version 5 topics are given by name, from version 6 by name or id. The
// answer is sent when the topic is gone for every later request; its files go
// later. delete.topic.enable is honoured.

func (a *API) deleteTopics(_ context.Context, req *protocol.Request, body *kmsg.DeleteTopicsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDeleteTopicsResponse()
	answer.Version = body.Version
	d := deletion{image: a.meta.Image(), version: body.Version}
	d.collect(body)
	if err := a.checkDeletion(body); err != nil {
		d.refuseAll(body, err)
		answer.Topics = d.answers
		return answer, nil
	}
	d.resolve()
	mutations := a.mutationsOf(req, 5)
	d.limit(mutations)
	answer.ThrottleMillis = mutations.throttle()
	for i, err := range a.deleteResolved(d.ids) {
		d.answer(&d.names[i], d.ids[i], changeError(err))
	}
	answer.Topics = d.answers
	return answer, nil
}

// deleteResolved deletes topics in one change and returns an error for each.
// When another request was faster with one of them, the others are deleted one
// by one.
func (a *API) deleteResolved(ids []logstore.UUID) []error {
	if len(ids) == 0 {
		return nil
	}
	errs := make([]error, len(ids))
	err := a.meta.DeleteTopics(ids)
	for i := range ids {
		errs[i] = err
		if errors.Is(err, metadata.ErrUnknownTopic) && len(ids) > 1 {
			errs[i] = a.meta.DeleteTopics(ids[i : i+1])
		}
	}
	return errs
}

// checkDeletion returns what refuses all topics of a request.
func (a *API) checkDeletion(body *kmsg.DeleteTopicsRequest) error {
	switch {
	case !a.layers().Bool("delete.topic.enable"):
		if body.Version < 3 {
			return &apiError{code: codeInvalidRequest} // these versions do not know the other code
		}
		return &apiError{code: codeTopicDeletionDisabled}
	case body.TimeoutMillis <= 0:
		return &apiError{code: codeRequestTimedOut}
	}
	return nil
}

// deletion is the work of one request.
type deletion struct {
	image   *metadata.Image
	version int16

	wantedNames []string        // each once, in order
	wantedIDs   []logstore.UUID // each once, in order
	names       []string        // of the topics to delete
	ids         []logstore.UUID // beside names
	answers     []kmsg.DeleteTopicsResponseTopic
}

// collect takes the names and ids from the request and answers those that are
// malformed or given twice.
func (d *deletion) collect(body *kmsg.DeleteTopicsRequest) {
	nameCount, idCount := map[string]int{}, map[logstore.UUID]int{}
	for _, name := range body.TopicNames {
		nameCount[name]++
		d.wantedNames = append(d.wantedNames, name)
	}
	for i := range body.Topics {
		t := &body.Topics[i]
		id := logstore.UUID(t.TopicID)
		zero := id == (logstore.UUID{})
		switch {
		case t.Topic == nil && zero:
			d.answer(nil, id, &apiError{codeInvalidRequest, "Neither topic name nor id were specified."})
		case t.Topic == nil:
			idCount[id]++
			d.wantedIDs = append(d.wantedIDs, id)
		case zero:
			nameCount[*t.Topic]++
			d.wantedNames = append(d.wantedNames, *t.Topic)
		default:
			d.answer(t.Topic, id, &apiError{codeInvalidRequest, "You may not specify both topic name and topic id."})
		}
	}
	d.wantedNames = distinct(d.wantedNames, nameCount, func(name string) {
		d.answer(&name, logstore.UUID{}, &apiError{codeInvalidRequest, "Duplicate topic name."})
	})
	d.wantedIDs = distinct(d.wantedIDs, idCount, func(id logstore.UUID) {
		d.answer(nil, id, &apiError{codeInvalidRequest, "Duplicate topic id."})
	})
}

// distinct keeps what count has once and reports each of the others once.
func distinct[T comparable](all []T, count map[T]int, twice func(T)) []T {
	var once []T
	for _, v := range all {
		switch {
		case count[v] == 1:
			once = append(once, v)
		case count[v] > 1:
			twice(v)
			count[v] = 0
		}
	}
	return once
}

// resolve finds the topics and answers those that are not there or are named by
// name and by id.
func (d *deletion) resolve() {
	named := make(map[logstore.UUID]string, len(d.wantedNames))
	for _, name := range d.wantedNames {
		t, ok := d.image.Topic(name)
		if !ok {
			d.answer(&name, logstore.UUID{}, usualError(codeUnknownTopicOrPartition))
			continue
		}
		named[t.ID] = name
	}
	for _, id := range d.wantedIDs {
		t, ok := d.image.TopicByID(id)
		if !ok {
			d.answer(nil, id, usualError(codeUnknownTopicID))
			continue
		}
		if name, both := named[id]; both {
			delete(named, id)
			d.answer(&name, id, &apiError{codeInvalidRequest, "The provided topic name maps to an ID that was already supplied."})
			continue
		}
		d.names, d.ids = append(d.names, t.Name), append(d.ids, id)
	}
	for _, name := range d.wantedNames {
		if t, ok := d.image.Topic(name); ok && named[t.ID] == name {
			d.names, d.ids = append(d.names, name), append(d.ids, t.ID)
		}
	}
}

// limit answers those that the client may not delete yet.
func (d *deletion) limit(mutations *mutationQuota) {
	names, ids := d.names, d.ids
	d.names, d.ids = nil, nil
	for i, id := range ids {
		t, ok := d.image.TopicByID(id)
		if !ok {
			continue // it was resolved in the same image
		}
		if err := mutations.take(len(t.Partitions)); err != nil {
			d.answer(&names[i], id, err)
			continue
		}
		d.names, d.ids = append(d.names, names[i]), append(d.ids, id)
	}
}

// refuseAll answers every topic of the request with err.
func (d *deletion) refuseAll(body *kmsg.DeleteTopicsRequest, err error) {
	d.answers = nil
	for i := range body.TopicNames {
		d.answer(&body.TopicNames[i], logstore.UUID{}, err)
	}
	for i := range body.Topics {
		d.answer(body.Topics[i].Topic, logstore.UUID(body.Topics[i].TopicID), err)
	}
}

// answer adds one topic to the answer; err nil means that it was deleted.
func (d *deletion) answer(name *string, id logstore.UUID, err error) {
	if errors.Is(err, metadata.ErrUnknownTopic) {
		err = usualError(codeUnknownTopicID) // another request was faster
	}
	t := kmsg.NewDeleteTopicsResponseTopic()
	t.Topic, t.TopicID = name, id
	t.ErrorCode, t.ErrorMessage = errorCode(err), errorMessage(err)
	d.answers = append(d.answers, t)
}
