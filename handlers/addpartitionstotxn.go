package handlers

// AddPartitionsToTxn, versions 0 to 5. Clients send one transaction up to
// version 3; brokers ask for several from version 4 on, also to verify without
// adding. The partitions of a transaction are added all or none: when one is not
// there, the others are not attempted.
//
// As Kafka does, a request of version 4 or 5 without any transaction is never
// answered.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
	"minibroker/txn"
)

func (a *API) addPartitionsToTxn(_ context.Context, req *protocol.Request) (protocol.Response, error) {
	body, err := bodyOf[*kmsg.AddPartitionsToTxnRequest](req)
	if err != nil {
		return protocol.Response{}, err
	}
	resp := body.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	if req.Version < 4 {
		resp.Topics = a.addToTxn(singleTransaction(body), req.Version)
		return protocol.Response{Body: resp}, nil
	}
	if len(body.Transactions) == 0 {
		return protocol.Response{None: true}, nil
	}
	for i := range body.Transactions {
		t := kmsg.NewAddPartitionsToTxnResponseTransaction()
		t.TransactionalID = body.Transactions[i].TransactionalID
		for _, topic := range a.addToTxn(&body.Transactions[i], req.Version) {
			inner := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
			inner.Topic = topic.Topic
			for _, p := range topic.Partitions {
				q := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
				q.Partition, q.ErrorCode = p.Partition, p.ErrorCode
				inner.Partitions = append(inner.Partitions, q)
			}
			t.Topics = append(t.Topics, inner)
		}
		resp.Transactions = append(resp.Transactions, t)
	}
	return protocol.Response{Body: resp}, nil
}

// singleTransaction is the transaction of a request up to version 3.
func singleTransaction(body *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnRequestTransaction {
	t := kmsg.NewAddPartitionsToTxnRequestTransaction()
	t.TransactionalID, t.ProducerID, t.ProducerEpoch = body.TransactionalID, body.ProducerID, body.ProducerEpoch
	for i := range body.Topics {
		topic := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
		topic.Topic, topic.Partitions = body.Topics[i].Topic, body.Topics[i].Partitions
		t.Topics = append(t.Topics, topic)
	}
	return &t
}

// addToTxn adds or verifies the partitions of one transaction and answers for each.
func (a *API) addToTxn(t *kmsg.AddPartitionsToTxnRequestTransaction, version int16) []kmsg.AddPartitionsToTxnResponseTopic {
	partitions, missing := txnPartitions(a.meta.Image(), t)
	var codes func(i int) int16
	switch {
	case len(missing) > 0:
		codes = func(i int) int16 {
			if missing[i] {
				return codeUnknownTopicOrPartition
			}
			return codeOperationNotAttempted
		}
	case t.VerifyOnly:
		codes = a.verifyPartitions(t, partitions)
	default:
		var err error
		if len(partitions) > 0 || t.TransactionalID == "" {
			err = a.txns.AddPartitions(t.TransactionalID, txn.Producer{ID: t.ProducerID, Epoch: t.ProducerEpoch},
				partitions, producerVersion(version > 3))
		}
		code := txnErrorCode(err, version >= 2)
		codes = func(int) int16 { return code }
	}
	var topics []kmsg.AddPartitionsToTxnResponseTopic
	n := 0
	for i := range t.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTopic()
		topic.Topic = t.Topics[i].Topic
		for _, p := range t.Topics[i].Partitions {
			q := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			q.Partition, q.ErrorCode = p, codes(n)
			topic.Partitions = append(topic.Partitions, q)
			n++
		}
		topics = append(topics, topic)
	}
	return topics
}

// txnPartitions lists the partitions of a transaction in the request's order,
// and which of them are not there, by place.
func txnPartitions(image *metadata.Image, t *kmsg.AddPartitionsToTxnRequestTransaction) (partitions []txn.Partition, missing map[int]bool) {
	for i := range t.Topics {
		topic, known := image.Topic(t.Topics[i].Topic)
		for _, p := range t.Topics[i].Partitions {
			if !known || !hasPartition(topic, p) {
				if missing == nil {
					missing = make(map[int]bool)
				}
				missing[len(partitions)] = true
			}
			partitions = append(partitions, txn.Partition{Topic: t.Topics[i].Topic, Partition: p})
		}
	}
	return partitions, missing
}

// verifyPartitions says for each partition whether it is part of the transaction.
func (a *API) verifyPartitions(t *kmsg.AddPartitionsToTxnRequestTransaction, partitions []txn.Partition) func(i int) int16 {
	hold, err := a.txns.Hold(t.TransactionalID, txn.Producer{ID: t.ProducerID, Epoch: t.ProducerEpoch})
	if err != nil {
		code := errorCode(err)
		return func(int) int16 { return code }
	}
	defer hold.Release()
	codes := make([]int16, len(partitions))
	for i, p := range partitions {
		if !hold.Has(p) {
			codes[i] = codeTransactionAbortable
		}
	}
	return func(i int) int16 { return codes[i] }
}

// producerVersion is what a producer follows, known by the version of its requests.
func producerVersion(bumps bool) txn.Version {
	if bumps {
		return txn.Version2
	}
	return txn.Version0
}
