package protocol

import (
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mostSteady is how many topics or partitions a request may name to be decoded into memory that its connection keeps.
const mostSteady = 64

// dataRequests decodes Produce and Fetch, which a client sends again and again with the same shape, into memory and strings
// that the connection used for the one before. What is out of the ordinary (errors, unknown tags, forgotten topics, many
// partitions, a replica's fields) is left to the general way.
type dataRequests struct {
	produce           kmsg.ProduceRequest
	produceTopics     []kmsg.ProduceRequestTopic
	producePartitions []kmsg.ProduceRequestTopicPartition
	transactionID     string

	fetch           kmsg.FetchRequest
	fetchTopics     []kmsg.FetchRequestTopic
	fetchPartitions []kmsg.FetchRequestTopicPartition
	rack            string
}

// decode returns nil for what has to be decoded the general way. Body begins behind the header's tags; the answer is valid
// until the next call and as long as body.
func (d *dataRequests) decode(key, version int16, flexible bool, body []byte) kmsg.Request {
	r := steadyReader{Reader: kbin.Reader{Src: body}, flexible: flexible}
	switch kmsg.Key(key) {
	case kmsg.Produce:
		d.readProduce(&r, version)
		if r.steady() {
			return &d.produce
		}
	case kmsg.Fetch:
		d.readFetch(&r, version)
		if r.steady() {
			return &d.fetch
		}
	}
	return nil
}

// forget lets go of the records, which are in a frame that is used again.
func (d *dataRequests) forget() {
	clear(d.producePartitions)
	d.producePartitions = d.producePartitions[:0]
}

func (d *dataRequests) readProduce(r *steadyReader, version int16) {
	v := &d.produce
	*v = kmsg.ProduceRequest{Version: version}
	if version >= 3 {
		v.TransactionID = r.nullableText(&d.transactionID)
	}
	v.Acks, v.TimeoutMillis = r.Int16(), r.Int32()
	// Beyond the length are the topics of the request before, for their names.
	d.producePartitions = d.producePartitions[:0]
	topics := d.produceTopics[:0]
	for n := r.count(); n > 0 && r.steady(); n-- {
		topics = extended(topics)
		t := &topics[len(topics)-1]
		name := t.Topic
		*t = kmsg.ProduceRequestTopic{}
		if version >= 13 {
			t.TopicID = r.Uuid()
		} else {
			t.Topic = r.text(name)
		}
		from := len(d.producePartitions)
		for n := r.count(); n > 0 && r.steady(); n-- {
			d.producePartitions = append(d.producePartitions, kmsg.ProduceRequestTopicPartition{Partition: r.Int32(), Records: r.nullableBytes()})
			r.noTags()
		}
		to := len(d.producePartitions)
		t.Partitions = d.producePartitions[from:to:to]
		r.noTags()
	}
	r.noTags()
	d.produceTopics, v.Topics = topics, topics
}

func (d *dataRequests) readFetch(r *steadyReader, version int16) {
	v := &d.fetch
	*v = kmsg.FetchRequest{Version: version}
	v.Default()
	if version <= 14 {
		v.ReplicaID = r.Int32()
	}
	v.MaxWaitMillis, v.MinBytes = r.Int32(), r.Int32()
	if version >= 3 {
		v.MaxBytes = r.Int32()
	}
	if version >= 4 {
		v.IsolationLevel = r.Int8()
	}
	if version >= 7 {
		v.SessionID, v.SessionEpoch = r.Int32(), r.Int32()
	}
	d.readFetchTopics(r, version)
	v.Topics = d.fetchTopics
	if version >= 7 && r.count() > 0 {
		r.odd = true
	}
	if version >= 11 {
		d.rack = r.text(d.rack)
		v.Rack = d.rack
	}
	r.noTags()
}

func (d *dataRequests) readFetchTopics(r *steadyReader, version int16) {
	d.fetchPartitions = d.fetchPartitions[:0]
	topics := d.fetchTopics[:0]
	for n := r.count(); n > 0 && r.steady(); n-- {
		topics = extended(topics)
		t := &topics[len(topics)-1]
		name := t.Topic
		*t = kmsg.FetchRequestTopic{}
		if version >= 13 {
			t.TopicID = r.Uuid()
		} else {
			t.Topic = r.text(name)
		}
		from := len(d.fetchPartitions)
		for n := r.count(); n > 0 && r.steady(); n-- {
			d.fetchPartitions = append(d.fetchPartitions, r.fetchPartition(version))
		}
		to := len(d.fetchPartitions)
		t.Partitions = d.fetchPartitions[from:to:to]
		r.noTags()
	}
	d.fetchTopics = topics
}

func (r *steadyReader) fetchPartition(version int16) kmsg.FetchRequestTopicPartition {
	var p kmsg.FetchRequestTopicPartition
	p.Default()
	p.Partition = r.Int32()
	if version >= 9 {
		p.CurrentLeaderEpoch = r.Int32()
	}
	p.FetchOffset = r.Int64()
	if version >= 12 {
		p.LastFetchedEpoch = r.Int32()
	}
	if version >= 5 {
		p.LogStartOffset = r.Int64()
	}
	p.PartitionMaxBytes = r.Int32()
	r.noTags()
	return p
}

// extended is s with one more element, which is what stood there before when there is room.
func extended[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}

// steadyReader reads a body that is expected to be as most are.
type steadyReader struct {
	kbin.Reader
	flexible bool
	odd      bool
	counted  int // elements of all arrays
}

// steady reports whether all was ordinary so far.
func (r *steadyReader) steady() bool { return !r.odd && r.Ok() }

func (r *steadyReader) count() int {
	var n int32
	if r.flexible {
		n = int32(r.Uvarint()) - 1
	} else {
		n = r.Int32()
	}
	r.counted += int(max(n, 0))
	r.odd = r.odd || n < 0 || n > mostSteady || r.counted > mostSteady
	return int(n)
}

// length is that of a string, or with four bytes of bulk bytes.
func (r *steadyReader) length(ofBytes bool) int {
	switch {
	case r.flexible:
		return int(int32(r.Uvarint())) - 1
	case ofBytes:
		return int(r.Int32())
	}
	return int(r.Int16())
}

// text reads a string and returns old when it is the same.
func (r *steadyReader) text(old string) string {
	n := r.length(false)
	if n < 0 || n > maxString {
		r.odd = true
		return ""
	}
	if b := r.Span(n); string(b) != old {
		return string(b)
	}
	return old
}

// nullableText reads a string that may be null, and keeps a copy in old.
func (r *steadyReader) nullableText(old *string) *string {
	n := r.length(false)
	switch {
	case n == -1:
		return nil
	case n < 0 || n > maxString:
		r.odd = true
		return nil
	}
	if b := r.Span(n); string(b) != *old {
		*old = string(b)
	}
	text := *old
	return &text
}

func (r *steadyReader) nullableBytes() []byte {
	n := r.length(true)
	if n < 0 {
		r.odd = r.odd || n < -1
		return nil
	}
	return r.Span(n)
}

func (r *steadyReader) noTags() {
	if r.flexible && r.Uvarint() != 0 {
		r.odd = true
	}
}
