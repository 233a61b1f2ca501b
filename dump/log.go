package dump

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"minibroker/logstore"
	"minibroker/record"
)

// fewestBatchBytes is the least length that a batch's length field may tell, in bytes after the field: that of the oldest format.
const fewestBatchBytes = 14

// recordLimit bounds one record of a compressed batch, in bytes.
const recordLimit = 1 << 30

// segment is a .log or .checkpoint file that is shown.
type segment struct {
	*Dumper
	path    string
	decoder Decoder
	buf     []byte
	last    int64 // offset of the last record
}

// log shows a log segment or a snapshot of the metadata.
func (d *Dumper) log(path string, kind fileKind) error {
	d.head(path, kind)
	s := segment{Dumper: d, path: path, decoder: d.decoderFor(path, kind), last: -1}
	trailing, err := s.walk(0, func(at int64, b record.Batch) error {
		if err := s.batch(at, b); err != nil || d.o.BatchesOnly {
			return err
		}
		return s.records(at, b)
	})
	if err != nil || trailing == 0 {
		return err
	}
	d.say("Found %d invalid bytes at the end of %s", trailing, filepath.Base(path))
	if d.o.JSON {
		d.line.begin(path, "trailing")
		d.line.num("bytes", trailing)
		return d.emit()
	}
	return nil
}

// head says what the name of the file says.
func (d *Dumper) head(path string, kind fileKind) {
	name := filepath.Base(path)
	base, _, _ := logstore.SegmentBase(name)
	switch {
	case kind == logFile:
		d.say("Log starting offset: %d", base)
	case name == "bootstrap.checkpoint":
		d.say("KRaft bootstrap snapshot")
	default:
		id, _, _ := strings.Cut(name, ".")
		end, epoch, _ := strings.Cut(id, "-")
		endOffset, _ := strconv.ParseInt(end, 10, 64) // a name that says nothing else is shown as 0
		number, _ := strconv.ParseInt(epoch, 10, 32)
		d.say("Snapshot end offset: %d, epoch: %d", endOffset, number)
	}
}

// decoderFor chooses the decoder by the topic whose directory the file is in.
func (d *Dumper) decoderFor(path string, kind fileKind) Decoder {
	if d.o.Decoder != Auto {
		return d.o.Decoder
	}
	if kind == metadataSnapshot {
		return Metadata
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	tp, _ := logstore.TopicPartitionOf(filepath.Dir(abs))
	switch tp.Topic {
	case "__consumer_offsets":
		return Groups
	case "__transaction_state":
		return Transactions
	case "__cluster_metadata":
		return Metadata
	case "__share_group_state":
		return ShareState
	}
	return Plain
}

// walk calls fn for every batch from a position on, with the position, and returns how many bytes at the end make no batch. The
// batch is fn's only until it returns.
func (s *segment) walk(from int64, fn func(at int64, b record.Batch) error) (trailing int64, err error) {
	file, err := s.fs.OpenFile(s.path, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	end, at := info.Size(), from
	var head [17]byte // up to the format number
	for at < end-int64(len(head)) {
		if _, err := file.ReadAt(head[:], at); err != nil {
			return 0, fmt.Errorf("read %s at %d: %w", s.path, at, err)
		}
		length := int64(int32(binary.BigEndian.Uint32(head[8:])))
		if length < fewestBatchBytes || length > end-at-record.LogOverhead {
			break
		}
		size := int(record.LogOverhead + length)
		if cap(s.buf) < size {
			s.buf = make([]byte, size)
		}
		if _, err := file.ReadAt(s.buf[:size], at); err != nil {
			return 0, fmt.Errorf("read %s at %d: %w", s.path, at, err)
		}
		if err := fn(at, record.Batch(s.buf[:size])); err != nil {
			return 0, err
		}
		at += int64(size)
	}
	return end - at, nil
}

// readable tells whether the getters of the current format may be used.
func readable(b record.Batch) bool {
	return len(b) >= record.HeaderSize && b.Magic() == record.CurrentMagic
}

// batch shows what the head of a batch says.
func (s *segment) batch(at int64, b record.Batch) error {
	l := &s.line
	l.begin(s.path, "batch")
	l.num("baseOffset", b.BaseOffset())
	if !readable(b) {
		l.num("position", at)
		l.num("size", int64(b.Size()))
		l.num("magic", int64(b.Magic()))
		s.wrong.add("Not of format 2 in "+s.path, fmt.Sprintf("batch at %d has format %d and %d bytes", at, b.Magic(), b.Size()))
		return s.emit()
	}
	l.num("lastOffset", b.LastOffset())
	l.num("count", int64(b.Count()))
	l.num("baseSequence", int64(b.BaseSequence()))
	l.num("lastSequence", int64(b.LastSequence()))
	l.num("producerId", b.ProducerID())
	l.num("producerEpoch", int64(b.ProducerEpoch()))
	l.num("partitionLeaderEpoch", int64(b.LeaderEpoch()))
	l.truth("isTransactional", b.IsTransactional())
	l.truth("isControl", b.IsControl())
	l.optional("deleteHorizonMs", b.BaseTimestamp(), b.HasDeleteHorizon())
	l.num("position", at)
	s.timestamp(b, b.MaxTimestamp())
	l.num("size", int64(b.Size()))
	l.num("magic", int64(b.Magic()))
	l.text("compresscodec", b.Codec().String())
	l.num("crc", int64(b.CRC()))
	l.truth("isvalid", b.ChecksumOK())
	if !b.ChecksumOK() {
		s.wrong.add("Checksums do not match in "+s.path, fmt.Sprintf("batch at %d, offset %d", at, b.BaseOffset()))
	}
	return s.emit()
}

// timestamp shows a time under the name of its type.
func (s *segment) timestamp(b record.Batch, ms int64) {
	if s.o.JSON {
		s.line.text("timestampType", b.TimestampType().String())
		s.line.num("timestamp", ms)
		return
	}
	s.line.num(b.TimestampType().String(), ms)
}

// records shows the records of a batch.
func (s *segment) records(at int64, b record.Batch) error {
	if !readable(b) {
		return nil
	}
	var written error
	err := b.ForEach(recordLimit, func(r *record.Record) error {
		if r.Offset != s.last+1 {
			// No damage: a segment may begin anywhere, and compaction leaves gaps.
			s.wrong.note("Non-consecutive offsets in "+s.path, fmt.Sprintf("%d is followed by %d", s.last, r.Offset))
		}
		s.last = r.Offset
		written = s.record(b, r)
		return written
	})
	if err != nil && written == nil {
		s.wrong.add("Records cannot be read in "+s.path, fmt.Sprintf("batch at %d: %v", at, err))
		return nil
	}
	return written
}

// record shows one record.
func (s *segment) record(b record.Batch, r *record.Record) error {
	l := &s.line
	l.begin(s.path, "record")
	l.mark("| ")
	l.num("offset", r.Offset)
	s.timestamp(b, r.Timestamp)
	l.num("keySize", sizeOf(r.Key))
	l.num("valueSize", sizeOf(r.Value))
	l.num("sequence", int64(sequenceOf(b, r)))
	s.headers(r)
	switch {
	case b.IsControl():
		s.control(r)
	case !s.o.NoData:
		s.data(r)
	}
	return s.emit()
}

func sizeOf(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

// sequenceOf is the sequence number of a record; after 2³¹−1 comes 0.
func sequenceOf(b record.Batch, r *record.Record) int32 {
	base := b.BaseSequence()
	if base == record.NoSequence {
		return record.NoSequence
	}
	return int32((int64(base) + int64(r.OffsetDelta)) & 0x7fffffff)
}

// headers shows the keys of the headers, in JSON also the values.
func (s *segment) headers(r *record.Record) {
	if !s.o.JSON {
		keys := make([]string, len(r.Headers))
		for i, h := range r.Headers {
			keys[i] = javaString(h.Key)
		}
		s.line.text("headerKeys", "["+strings.Join(keys, ",")+"]")
		return
	}
	out := []byte{'['}
	for i, h := range r.Headers {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"key":`...)
		out = appendQuoted(out, javaString(h.Key))
		out = append(out, `,"value":`...)
		out = append(appendData(out, h.Value), '}')
	}
	s.line.raw("headers", append(out, ']'))
}
