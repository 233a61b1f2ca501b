package handlers

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kbin"

	"minibroker/partition"
	"minibroker/protocol"
)

// Versions of Fetch in which the answer changes.
const (
	logStartInFetch  = 5
	sessionInFetch   = 7
	replicaInFetch   = 11
	flexibleFetch    = 12
	topicIDInFetch   = 13
	leaderInFetch    = 16
	oldestFetch      = 4
	newestFetch      = 18
	fetchHeaderBytes = 128 // room for an answer's head and one partition
)

// fetchAnswer encodes a Fetch answer in pieces: bytes that are made here, and
// between them the records, which stay where they are, in ranges of files.
//
//	throttle i32                     milliseconds
//	error i16, session i32           from 7
//	topics: count
//	  name string | id 16 bytes      up to 12 | from 13
//	  partitions: count
//	    partition i32, error i16, high watermark i64, last stable offset i64
//	    log start offset i64         from 5
//	    aborted: count or null, of (producer id i64, first offset i64)
//	    preferred replica i32        from 11
//	    records: length, bytes       the bytes are a part's source
//	    tags                         from 12: 0 diverging epoch, 1 current leader (from 16)
//	  tags                           from 12
//	tags                             from 12: 0 addresses of nodes (from 16)
//
// From version 12 on counts and lengths are one more than they say, as
// unsigned varints, and 0 is null.
type fetchAnswer struct {
	version  int16
	throttle int32 // milliseconds
	buf      []byte
	mark     int // start in buf of the part that is being made
	parts    []protocol.Part

	node     int32
	endpoint *Endpoint // of node; nil when no leader is named
}

func (w *fetchAnswer) flexible() bool { return w.version >= flexibleFetch }

// begin starts an answer.
func (w *fetchAnswer) begin(version int16, code int16, sessionID int32) {
	w.version, w.endpoint, w.mark = version, nil, 0
	if w.buf == nil {
		w.buf = make([]byte, 0, 2*fetchHeaderBytes)
	}
	w.buf, w.parts = w.buf[:0], w.parts[:0]
	w.i32(w.throttle)
	if version >= sessionInFetch {
		w.i16(code)
		w.i32(sessionID)
	}
}

// end finishes the answer.
func (w *fetchAnswer) end() []protocol.Part {
	if w.flexible() {
		w.nodes()
	}
	if len(w.buf) > w.mark {
		w.parts = append(w.parts, protocol.Part{Bytes: w.buf[w.mark:]})
	}
	return w.parts
}

func (w *fetchAnswer) reset() {
	clear(w.parts)
	w.parts, w.buf, w.endpoint, w.throttle = w.parts[:0], w.buf[:0], nil, 0
}

// encode writes the picked entries, grouped by topic. A topic whose entries do
// not stand together comes more than once.
func (c *fetchCall) encode() {
	w := &c.answer
	groups := 0
	for i := range c.picked {
		if i == 0 || !c.sameTopic(i-1, i) {
			groups++
		}
	}
	w.topics(groups)
	for i := 0; i < len(c.picked); {
		n := i + 1
		for n < len(c.picked) && c.sameTopic(i, n) {
			n++
		}
		w.topic(&c.entries[c.picked[i]].fetchWant, n-i)
		for ; i < n; i++ {
			e := &c.entries[c.picked[i]]
			if e.read < 0 {
				w.refusedPartition(e)
			} else {
				w.partition(e, &c.results[e.read])
			}
		}
		w.noTags()
	}
}

// sameTopic reports whether two picked entries are of one topic.
func (c *fetchCall) sameTopic(i, j int) bool {
	a, b := &c.entries[c.picked[i]].fetchWant, &c.entries[c.picked[j]].fetchWant
	return a.topic == b.topic && a.id == b.id
}

func (w *fetchAnswer) topics(count int) { w.count(count) }

func (w *fetchAnswer) topic(want *fetchWant, partitions int) {
	if w.version >= topicIDInFetch {
		w.buf = append(w.buf, want.id[:]...)
	} else {
		w.text(want.topic)
	}
	w.count(partitions)
}

// refusedPartition answers for a partition that was not read: its list of
// aborted transactions is empty, not null.
func (w *fetchAnswer) refusedPartition(e *fetchEntry) {
	w.head(e, -1, -1, -1)
	w.count(0)
	w.replica()
	w.recordsLen(0)
	w.noTags()
}

// partition answers for one that was read. Its records, if any, become the
// source of a part and are the answer's to release.
func (w *fetchAnswer) partition(e *fetchEntry, r *partition.ReadResult) {
	w.head(e, r.HighWatermark, r.LastStableOffset, r.LogStartOffset)
	if r.Committed {
		w.count(len(r.Aborted))
		for i := range r.Aborted {
			w.i64(r.Aborted[i].ProducerID)
			w.i64(r.Aborted[i].FirstOffset)
			w.noTags()
		}
	} else {
		w.null()
	}
	w.replica()
	w.recordsLen(rangeLen(r.Records))
	if r.Records != nil {
		w.parts = append(w.parts, protocol.Part{Bytes: w.buf[w.mark:len(w.buf):len(w.buf)], Source: r.Records})
		w.mark = len(w.buf)
	}
	w.partitionTags(e, r)
}

func (w *fetchAnswer) head(e *fetchEntry, highWatermark, lastStable, logStart int64) {
	w.i32(e.partition)
	w.i16(e.code)
	w.i64(highWatermark)
	w.i64(lastStable)
	if w.version >= logStartInFetch {
		w.i64(logStart)
	}
}

func (w *fetchAnswer) replica() {
	if w.version >= replicaInFetch {
		w.i32(-1)
	}
}

func (w *fetchAnswer) recordsLen(n int64) {
	if w.flexible() {
		w.buf = kbin.AppendUvarint(w.buf, uint32(n+1))
	} else {
		w.i32(int32(n))
	}
}

// partitionTags writes the diverging epoch and the current leader, each a
// structure of its own with an empty tag section.
func (w *fetchAnswer) partitionTags(e *fetchEntry, r *partition.ReadResult) {
	if !w.flexible() {
		return
	}
	leader := w.version >= leaderInFetch && e.namesLeader()
	tags := byte(0)
	if r.HasDiverging {
		tags++
	}
	if leader {
		tags++
	}
	w.buf = append(w.buf, tags)
	if r.HasDiverging {
		w.buf = append(w.buf, 0, 4+8+1)
		w.i32(r.Diverging.Epoch)
		w.i64(r.Diverging.EndOffset)
		w.noTags()
	}
	if leader {
		w.buf = append(w.buf, 1, 4+4+1)
		w.i32(e.leader)
		w.i32(e.leaderEpoch)
		w.noTags()
	}
}

// nodes writes the answer's own tags: the address of the leader that a
// partition named, if one did.
func (w *fetchAnswer) nodes() {
	if w.endpoint == nil {
		w.noTags()
		return
	}
	host := w.endpoint.Host
	size := 1 + 4 + kbin.UvarintLen(uint32(len(host)+1)) + len(host) + 4 + 1 + 1
	w.buf = append(w.buf, 1, 0)
	w.buf = kbin.AppendUvarint(w.buf, uint32(size))
	w.count(1)
	w.i32(w.node)
	w.text(host)
	w.i32(w.endpoint.Port)
	w.buf = append(w.buf, 0) // no rack
	w.noTags()
}

func (w *fetchAnswer) noTags() {
	if w.flexible() {
		w.buf = append(w.buf, 0)
	}
}

func (w *fetchAnswer) count(n int) {
	if w.flexible() {
		w.buf = kbin.AppendUvarint(w.buf, uint32(n+1))
	} else {
		w.i32(int32(n))
	}
}

func (w *fetchAnswer) null() {
	if w.flexible() {
		w.buf = append(w.buf, 0)
	} else {
		w.i32(-1)
	}
}

func (w *fetchAnswer) text(s string) {
	if w.flexible() {
		w.buf = kbin.AppendUvarint(w.buf, uint32(len(s)+1))
	} else {
		w.i16(int16(len(s)))
	}
	w.buf = append(w.buf, s...)
}

func (w *fetchAnswer) i16(v int16) { w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(v)) }
func (w *fetchAnswer) i32(v int32) { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(v)) }
func (w *fetchAnswer) i64(v int64) { w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(v)) }
