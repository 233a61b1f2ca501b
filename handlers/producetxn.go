package handlers

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
	"minibroker/record"
	"minibroker/txn"
)

// membership is how the partition of a batch stands to the batch's transaction.
type membership int8

const (
	// plainBatch: the batch is part of no transaction.
	plainBatch membership = iota
	// openHere: the partition has the transaction open. Whether it still has is
	// seen when the batch is appended.
	openHere
	// toVerify: the batch begins the transaction here.
	toVerify
	// verified: the coordinator knows the partition, and the transaction is held.
	verified
)

// beginTransactions asks the transaction coordinator about the partitions that a
// transaction reaches with this request. The transaction is held until the
// function returned is called, after the batches are appended; it is nil when
// there is nothing to hold.
func (a *API) beginTransactions(req *protocol.Request, body *kmsg.ProduceRequest, c *produceCall) (release func()) {
	if body.TransactionID == nil {
		return nil
	}
	verify := req.Version >= 12 || a.layers().Bool("transaction.partition.verification.enable")
	producer, several, asked := a.findTransactions(c, verify, req.Version >= 12)
	if several {
		for i := range c.entries {
			c.entries[i].fail(codeInvalidProducerIDMapping, "")
		}
		return nil
	}
	if !asked {
		return nil
	}
	hold, err := a.txns.Hold(*body.TransactionID, producer)
	if err != nil {
		c.refuseUnverified(err)
		return nil
	}
	if req.Version >= 12 {
		if err := hold.Add(c.unverified(), txn.Version2); err != nil {
			hold.Release()
			c.refuseUnverified(err)
			return nil
		}
	}
	c.verifyAll(hold.Has)
	return hold.Release
}

// findTransactions notes the membership of each entry and returns the producer,
// whether there are several, and whether the coordinator has to be asked. bumps
// says that the producer raises its epoch with each transaction.
func (a *API) findTransactions(c *produceCall, verify, bumps bool) (producer txn.Producer, several, asked bool) {
	found := false
	for i := range c.entries {
		e := &c.entries[i]
		if e.code != codeNone {
			continue
		}
		batch, err := record.CheckRequest(e.records)
		if err != nil || !batch.IsTransactional() || batch.ProducerID() < 0 {
			continue
		}
		own := txn.Producer{ID: batch.ProducerID(), Epoch: batch.ProducerEpoch()}
		several = several || found && own.ID != producer.ID
		producer, found = own, true
		e.topicName = c.images[e.topic].Name
		p, err := a.partitions.Get(logstore.TopicPartition{Topic: e.topicName, Partition: e.partition})
		if err != nil {
			continue
		}
		if !verify {
			e.member = verified
			continue
		}
		e.member = openHere
		begins, err := p.Log().BeginsTransaction(own.ID, own.Epoch, batch.BaseSequence(), bumps)
		switch {
		case err != nil:
			e.member, e.txnError = toVerify, err
		case begins:
			e.member, asked = toVerify, true
		}
	}
	return producer, several, asked
}

func (e *produceEntry) txnPartition() txn.Partition {
	return txn.Partition{Topic: e.topicName, Partition: e.partition}
}

// unverified lists the partitions to be verified.
func (c *produceCall) unverified() []txn.Partition {
	var list []txn.Partition
	for i := range c.entries {
		if e := &c.entries[i]; e.member == toVerify && e.txnError == nil {
			list = append(list, e.txnPartition())
		}
	}
	return list
}

// verifyAll settles the partitions to be verified.
func (c *produceCall) verifyAll(has func(txn.Partition) bool) {
	for i := range c.entries {
		e := &c.entries[i]
		switch {
		case e.member != toVerify || e.txnError != nil:
		case has(e.txnPartition()):
			e.member = verified
		default:
			e.txnError = txn.ErrNotAdded
		}
	}
}

// refuseUnverified notes why the partitions to be verified are not.
func (c *produceCall) refuseUnverified(err error) {
	for i := range c.entries {
		if e := &c.entries[i]; e.member == toVerify && e.txnError == nil {
			e.txnError = err
		}
	}
}

// outsideTransaction answers a batch whose partition is not part of its
// transaction, or may not be. Old versions are told what they know of.
func outsideTransaction(err error, version int16) (code int16, message string) {
	code = errorCode(err)
	switch {
	case errors.Is(err, txn.ErrProducerFenced):
		return codeInvalidProducerEpoch, ""
	case errors.Is(err, txn.ErrNotAdded) && version < 11:
		return codeInvalidTxnState, "Partition was not added to the transaction"
	case errors.Is(err, txn.ErrConcurrent):
		return unverifiable("CONCURRENT_TRANSACTIONS")
	case code == codeNotCoordinator:
		return unverifiable("NOT_COORDINATOR")
	case code == codeCoordinatorNotAvailable:
		return unverifiable("COORDINATOR_NOT_AVAILABLE")
	}
	return code, ""
}

// unverifiable asks the producer to try again, in a code that makes every
// version do so without looking for another leader.
func unverifiable(why string) (code int16, message string) {
	return codeNotEnoughReplicas, "Unable to verify the partition has been added to the transaction. Underlying error: " + why
}
