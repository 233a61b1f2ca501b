package handlers

// TxnOffsetCommit, versions 0 to 6: offsets that come into force when the
// transaction is committed. From version 5 on the partition of the group's
// offsets joins the transaction by itself; before, AddOffsetsToTxn must have
// added it. Topics are given by id in version 6.
//
// What is not there is refused before the coordinators are asked; when nothing
// else is left, they are not asked at all.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) txnOffsetCommit(_ context.Context, req *protocol.Request, body *kmsg.TxnOffsetCommitRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	asked := a.sortOutOffsets(resp, body)
	if len(asked) == 0 {
		return resp, nil
	}
	partitions := make([]group.CommitPartition, len(asked))
	for i := range asked {
		partitions[i] = asked[i].commit
	}
	errs, err := a.commitInTxn(req.Version, body, partitions)
	code := txnErrorCode(err, false) // a fenced producer's epoch is invalid here
	for i := range asked {
		own := code
		if err == nil && errs != nil {
			own = errorCode(errs[i])
		}
		resp.Topics[asked[i].topic].Partitions[asked[i].place].ErrorCode = own
	}
	return resp, nil
}

// askedOffset is one offset to commit and where its answer is.
type askedOffset struct {
	topic, place int
	commit       group.CommitPartition
}

// sortOutOffsets answers for what is not there and returns the rest.
func (a *API) sortOutOffsets(resp *kmsg.TxnOffsetCommitResponse, body *kmsg.TxnOffsetCommitRequest) []askedOffset {
	image := a.meta.Image()
	var asked []askedOffset
	for i := range body.Topics {
		t := &body.Topics[i]
		topic, known := image.Topic(t.Topic)
		code := codeUnknownTopicOrPartition
		if body.Version >= 6 {
			topic, known = image.TopicByID(logstore.UUID(t.TopicID))
			if !known {
				code = codeUnknownTopicID
			}
		}
		answer := kmsg.NewTxnOffsetCommitResponseTopic()
		answer.Topic, answer.TopicID = t.Topic, t.TopicID
		for j := range t.Partitions {
			p := &t.Partitions[j]
			q := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			q.Partition, q.ErrorCode = p.Partition, code
			answer.Partitions = append(answer.Partitions, q)
			if !known || !hasPartition(topic, p.Partition) {
				continue
			}
			asked = append(asked, askedOffset{topic: i, place: j, commit: group.CommitPartition{
				PartitionName: group.PartitionName{Topic: topic.Name, Partition: p.Partition},
				TopicID:       topic.ID, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: deref(p.Metadata),
			}})
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return asked
}

// commitInTxn writes the offsets while the transaction is kept from ending.
func (a *API) commitInTxn(version int16, body *kmsg.TxnOffsetCommitRequest, partitions []group.CommitPartition) ([]error, error) {
	if body.Group == "" {
		return nil, &apiError{code: codeInvalidGroupID}
	}
	if _, ok := a.groups.PartitionFor(body.Group); !ok {
		return nil, group.ErrNotCoordinator
	}
	p := a.offsetsPartition(body.Group)
	hold, err := a.txns.Hold(body.TransactionalID, txn.Producer{ID: body.ProducerID, Epoch: body.ProducerEpoch})
	if err != nil {
		return nil, err
	}
	defer hold.Release()
	follows := producerVersion(version >= 5)
	if version >= 5 {
		err = hold.Add([]txn.Partition{p}, follows)
	} else if !hold.Has(p) {
		err = &apiError{code: codeInvalidTxnState}
	}
	if err != nil {
		return nil, err
	}
	return a.groups.CommitTransactional(&group.TransactionalCommitRequest{
		GroupID: body.Group,
		Committer: group.Committer{
			MemberID: body.MemberID, InstanceID: body.InstanceID, Generation: body.Generation, KnowsEpochs: body.Version >= 6,
		},
		ProducerID: body.ProducerID, ProducerEpoch: body.ProducerEpoch, TransactionVersion: int16(follows),
		Partitions: partitions,
	})
}
