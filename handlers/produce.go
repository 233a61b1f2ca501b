package handlers

// Produce, versions 3 to 13. Versions 0 to 2 are listed by ApiVersions and
// close the connection, as Kafka's do.
//
// Honoured: acks 0, 1 and -1 (with one replica the last two are the same),
// topics by id from version 13, error records and messages from version 8, the
// current leader and its address from version 10. The timeout is not: with one
// replica there is nothing to wait for.
//
// The first batch of a transaction on a partition is verified with the
// transaction coordinator, or from version 12 on makes the partition part of the
// transaction: see beginTransactions.
//
// Deviation: null records are answered like empty ones with INVALID_RECORD;
// Kafka never answers such a request nor closes the connection.

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/protocol"
	"minibroker/record"
)

// produceCall is the work space of one Produce request. It is pooled together
// with its answer, which is in use until the answer has been written.
type produceCall struct {
	topics     firstSeen[topicKey]
	partitions firstSeen[partitionKey]
	images     []*metadata.Topic // by topic number; nil when unknown
	counts     []int32           // partitions by topic number
	entries    []produceEntry    // by partition number

	resp           kmsg.ProduceResponse
	respTopics     []kmsg.ProduceResponseTopic
	respPartitions []kmsg.ProduceResponseTopicPartition
	release        func()
}

// produceEntry is one partition of the request and what became of it.
type produceEntry struct {
	topic     int32
	partition int32
	records   []byte

	code           int16
	baseOffset     int64
	logAppendTime  int64
	logStartOffset int64
	leader         int32 // set with leaderEpoch when code says not the leader
	leaderEpoch    int32
	message        *string
	errorRecords   []kmsg.ProduceResponseTopicPartitionErrorRecord

	member    membership
	txnError  error  // why member is still toVerify
	topicName string // set with member
}

func (a *API) produce(_ context.Context, req *protocol.Request) (protocol.Response, error) {
	body := req.Body.(*kmsg.ProduceRequest)
	c := a.produceCall()
	c.gather(body)
	code, message := checkProduce(body)
	if code == codeNone {
		c.resolve(a.meta.Image(), req.Version)
		if req.Version < 7 && c.unknownCodec() {
			code = codeUnknownServerError
		}
	}
	if code == codeNone {
		if release := a.beginTransactions(req, body, c); release != nil {
			defer release()
		}
	}
	for i := range c.entries {
		e := &c.entries[i]
		if code != codeNone {
			e.fail(code, message)
		} else if e.code == codeNone {
			a.produceEntry(req, body, c.images[e.topic], e)
		}
	}
	if body.Acks == 0 {
		defer c.release()
		return c.silent(req)
	}
	a.answerProduce(c, req)
	return protocol.Response{Body: &c.resp, Done: c.release}, nil
}

func (a *API) produceCall() *produceCall {
	if c, ok := a.data.produces.Get().(*produceCall); ok {
		return c
	}
	c := &produceCall{}
	c.release = func() {
		if cap(c.entries) > mostPooled {
			return
		}
		c.topics.reset()
		c.partitions.reset()
		c.resp.ThrottleMillis = 0
		clear(c.images)
		clear(c.entries)
		clear(c.respTopics)
		clear(c.respPartitions)
		c.images, c.counts, c.entries = c.images[:0], c.counts[:0], c.entries[:0]
		c.respTopics, c.respPartitions = c.respTopics[:0], c.respPartitions[:0]
		a.data.produces.Put(c)
	}
	return c
}

// gather lists the partitions of the request. Of a partition that comes twice
// the last record set counts and the others are dropped without a word, as
// Kafka does.
func (c *produceCall) gather(body *kmsg.ProduceRequest) {
	for i := range body.Topics {
		t := &body.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		topic, known := c.topics.add(topicKey{name: t.Topic, id: t.TopicID})
		if !known {
			c.counts = append(c.counts, 0)
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			n, seen := c.partitions.add(partitionKey{topic: topic, partition: p.Partition})
			if !seen {
				c.entries = append(c.entries, produceEntry{topic: topic, partition: p.Partition})
				c.counts[topic]++
			}
			e := &c.entries[n]
			e.records = p.Records
			e.baseOffset, e.logAppendTime, e.logStartOffset = -1, -1, -1
		}
	}
}

// checkProduce looks at what fails a request as a whole: a record set that
// begins with no batch of a known layout, or a transactional one without a
// transactional id. The sets are looked at in order and up to the first
// transactional one, also those that are dropped for a later one.
func checkProduce(body *kmsg.ProduceRequest) (code int16, message string) {
	for i := range body.Topics {
		for j := range body.Topics[i].Partitions {
			set := body.Topics[i].Partitions[j].Records
			if _, err := record.CheckRequest(set); err != nil {
				if invalid := asInvalid(err); invalid.Scope == record.ScopeRequest {
					return errorCode(err), invalid.Message
				}
			}
			if beginsTransactional(set) {
				if body.TransactionID == nil {
					return codeTransactionalIDAuthorizationFailed, ""
				}
				return codeNone, ""
			}
		}
	}
	return codeNone, ""
}

// beginsTransactional reports whether the first batch of a set, which need not
// be the only one, is part of a transaction.
func beginsTransactional(set []byte) bool {
	head, err := record.ParseHeader(set)
	return err == nil && head.Magic == record.CurrentMagic && head.Size() <= len(set) && head.IsTransactional()
}

// unknownCodec reports whether a batch is compressed by no known codec. Up to
// version 6 that fails the whole request, because Kafka looks for zstd there,
// which came with version 7.
func (c *produceCall) unknownCodec() bool {
	for i := range c.entries {
		e := &c.entries[i]
		if e.code != codeNone {
			continue
		}
		if batch, err := record.CheckRequest(e.records); err == nil && !batch.Codec().Known() {
			return true
		}
	}
	return false
}

// resolve finds the topics, by name or by id, and the partitions in them.
func (c *produceCall) resolve(image *metadata.Image, version int16) {
	for _, key := range c.topics.keys {
		var topic *metadata.Topic
		if version >= 13 {
			topic, _ = image.TopicByID(logstore.UUID(key.id))
		} else {
			topic, _ = image.Topic(key.name)
		}
		c.images = append(c.images, topic)
	}
	for i := range c.entries {
		e := &c.entries[i]
		switch topic := c.images[e.topic]; {
		case topic == nil && version >= 13:
			e.fail(codeUnknownTopicID, "")
		case topic == nil || !hasPartition(topic, e.partition):
			e.fail(codeUnknownTopicOrPartition, "")
		}
	}
}

// produceEntry appends one partition's record set, checked in Kafka's order.
func (a *API) produceEntry(req *protocol.Request, body *kmsg.ProduceRequest, topic *metadata.Topic, e *produceEntry) {
	batch, err := record.CheckRequest(e.records)
	switch {
	case err != nil:
		e.fail(errorCode(err), "")
		return
	case req.Version < 7 && batch.Codec() == record.Zstd:
		e.fail(codeUnsupportedCompressionType, "")
		return
	}
	tp := logstore.TopicPartition{Topic: topic.Name, Partition: e.partition}
	p, unserved := a.partitions.Get(tp)
	if e.member == toVerify {
		e.fail(outsideTransaction(e.txnError, req.Version))
		return
	}
	if body.Acks < -1 || body.Acks > 1 {
		e.fail(codeInvalidRequiredAcks, "")
		return
	}
	if isInternalTopic(topic.Name) && (req.ClientID == nil || *req.ClientID != adminClientID) {
		e.fail(codeInvalidTopicException, "")
		return
	}
	if unserved != nil {
		// The metadata have it and this broker does not serve it: it is being
		// made or its directory failed.
		leader := &topic.Partitions[e.partition]
		e.fail(unservedCode(unserved), "")
		e.leader, e.leaderEpoch = leader.Leader, leader.LeaderEpoch
		return
	}
	if body.Version >= 13 && !isOf(p, topic) {
		e.fail(codeUnknownTopicID, "")
		return
	}
	info, err := p.Append(e.records, logstore.AppendOptions{
		Origin: logstore.Client, Unverified: e.member == openHere, TransactionVersion: int16(producerVersion(req.Version >= 12)),
	})
	if err != nil {
		e.refuse(err, p)
		if e.logged(err) {
			a.log.Error("produce", "partition", p.TopicPartition().String(), "error", err)
		}
		return
	}
	e.baseOffset, e.logAppendTime, e.logStartOffset = info.FirstOffset, info.LogAppendTimeMs, info.LogStartOffset
}

// adminClientID is the client id that Kafka's own tools use when they write to
// internal topics; no other client may.
const adminClientID = "__admin_client"

// fail notes an error of the request itself.
func (e *produceEntry) fail(code int16, message string) {
	e.code = code
	if message != "" {
		e.message = &message
	}
}

// refuse notes an error of the append. Kafka gives the log start offset along
// unless the batch did not get as far as the log.
func (e *produceEntry) refuse(err error, p *partition.Partition) {
	e.code = errorCode(err)
	if invalid := asInvalid(err); invalid != nil {
		if invalid.Scope == record.ScopeLog {
			e.logStartOffset = p.LogStartOffset()
		}
		e.explain(invalid)
		return
	}
	switch e.code {
	case codeRecordListTooLarge, codeKafkaStorageError, codeUnknownTopicOrPartition:
	case codePolicyViolation:
		e.message = errorMessage(err)
	default:
		e.logStartOffset = p.LogStartOffset()
	}
}

// asInvalid finds what is wrong with the batch, nil when that is not what failed.
func asInvalid(err error) *record.ValidationError {
	var invalid *record.ValidationError
	if errors.As(err, &invalid) {
		return invalid
	}
	return nil
}

// explain copies what is wrong with the batch and its records, if Kafka says it.
func (e *produceEntry) explain(invalid *record.ValidationError) {
	if invalid.Message == "" {
		return
	}
	e.message = &invalid.Message
	for i := range invalid.Records {
		r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		r.RelativeOffset, r.ErrorMessage = invalid.Records[i].BatchIndex, &invalid.Records[i].Message
		e.errorRecords = append(e.errorRecords, r)
	}
}

// logged reports whether a failure is the broker's own and belongs into its log.
func (e *produceEntry) logged(err error) bool {
	return e.code == codeKafkaStorageError || e.code == codeUnknownServerError && asInvalid(err) == nil
}

// silent ends a request with acks=0. The client gets no answer, so that the
// only way to tell it of a failure is to close the connection.
func (c *produceCall) silent(req *protocol.Request) (protocol.Response, error) {
	for i := range c.entries {
		if e := &c.entries[i]; e.code != codeNone {
			key := c.topics.keys[e.topic]
			return protocol.Response{}, fmt.Errorf("produce with acks=0 to topic %q (id %s) partition %d: error code %d cannot be answered",
				key.name, logstore.UUID(key.id), e.partition, e.code)
		}
	}
	return protocol.Response{None: true}, nil
}

// answerProduce fills the answer: topics and partitions in the order in which
// the request first named them.
func (a *API) answerProduce(c *produceCall, req *protocol.Request) {
	resp := &c.resp
	resp.Default()
	resp.Version = req.Version
	resp.Brokers = nil
	c.respPartitions = append(c.respPartitions[:0], make([]kmsg.ProduceResponseTopicPartition, len(c.entries))...)
	c.respTopics = append(c.respTopics[:0], make([]kmsg.ProduceResponseTopic, len(c.topics.keys))...)
	c.carve()
	for i := range c.entries {
		e := &c.entries[i]
		t := &c.respTopics[e.topic]
		key := &c.topics.keys[e.topic]
		t.Topic, t.TopicID = key.name, key.id
		t.Partitions = append(t.Partitions, kmsg.ProduceResponseTopicPartition{
			Partition:      e.partition,
			ErrorCode:      e.code,
			BaseOffset:     e.baseOffset,
			LogAppendTime:  e.logAppendTime,
			LogStartOffset: e.logStartOffset,
			ErrorRecords:   e.errorRecords,
			ErrorMessage:   e.message,
			CurrentLeader:  kmsg.ProduceResponseTopicPartitionCurrentLeader{LeaderID: -1, LeaderEpoch: -1},
		})
		if e.code == codeNotLeaderOrFollower && req.Version >= 10 {
			p := &t.Partitions[len(t.Partitions)-1]
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = e.leader, e.leaderEpoch
			a.nameLeader(resp, e.leader, req.Listener)
		}
	}
	resp.Topics = c.respTopics
}

// carve gives each topic an empty slice of the common partition array with
// room for its partitions.
func (c *produceCall) carve() {
	start := int32(0)
	for i := range c.respTopics {
		end := start + c.counts[i]
		c.respTopics[i].Partitions = c.respPartitions[start:start:end]
		start = end
	}
}

// nameLeader adds the address of this node, once, when it is the leader that
// an answer points to.
func (a *API) nameLeader(resp *kmsg.ProduceResponse, leader int32, listener string) {
	endpoint, ok := a.advertised(listener)
	if !ok || leader != a.config.NodeID() || len(resp.Brokers) > 0 {
		return
	}
	broker := kmsg.NewProduceResponseBroker()
	broker.NodeID, broker.Host, broker.Port = leader, endpoint.Host, endpoint.Port
	resp.Brokers = append(resp.Brokers, broker)
}
