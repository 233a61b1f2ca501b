package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchSpec says how to build a record batch. Everything has a sound default,
// so that a script names only what it wants to be wrong.
type batchSpec struct {
	Base    int64     // base offset
	Epoch   int32     // partition leader epoch
	Magic   int8      // 0 and 1 build an old message set
	Attr    int16     // attribute bits, added to those of Txn, Control and Gzip
	Txn     bool      // transactional bit
	Control bool      // control bit
	Gzip    bool      // compress the records
	TS      int64     // timestamp of the first record
	Stamps  []int64   // timestamp of each record
	MaxTS   int64     // maximum timestamp in the header
	PID     int64     // producer id
	PEpoch  int16     // producer epoch
	Seq     int32     // base sequence
	N       int       // how many records, when V is not given
	K       []*string // keys
	V       []*string // values
	Pad     int       // each value is this many bytes
	Header  string    // one header with this key in each record
	Count   int32     // record count in the header
	Last    int32     // last offset delta in the header
	Delta   int32     // added to each record's offset delta
	RecLen  int32     // added to the last record's own length
	Len     int32     // added to the batch length
	CRC     int64     // flipped in the checksum
	Cut     int       // bytes cut off the end
	Tail    []byte    // bytes added at the end
}

const fixedTime = 1_700_000_000_000

func buildBatch(o object) ([]byte, error) {
	s := batchSpec{Epoch: -1, Magic: 2, TS: fixedTime, PID: -1, PEpoch: -1, Seq: -1, N: 1, Count: -99, Last: -99, MaxTS: -99}
	if err := fill(reflect.ValueOf(&s).Elem(), o); err != nil {
		return nil, err
	}
	if s.V == nil {
		for i := range s.N {
			v := fmt.Sprintf("v%d", i)
			s.V = append(s.V, &v)
		}
	}
	if s.Magic < 2 && s.Magic >= 0 {
		return s.messageSet(), nil
	}
	return s.batch()
}

func (s *batchSpec) stamp(i int) int64 {
	if i < len(s.Stamps) {
		return s.Stamps[i]
	}
	return s.TS
}

// records encodes the records; first is the stamp that theirs are relative to.
func (s *batchSpec) records(first int64) (records []byte, maxStamp int64) {
	maxStamp = first
	for i, v := range s.V {
		maxStamp = max(maxStamp, s.stamp(i))
		body := []byte{0}
		body = binary.AppendVarint(body, s.stamp(i)-first)
		body = binary.AppendVarint(body, int64(i)+int64(s.Delta))
		var key *string
		if i < len(s.K) {
			key = s.K[i]
		}
		body = appendVarBytes(body, key)
		if s.Pad > 0 {
			padded := strings.Repeat("x", s.Pad)
			v = &padded
		}
		body = appendVarBytes(body, v)
		if s.Header == "" {
			body = append(body, 0)
		} else {
			body = binary.AppendVarint(body, 1)
			body = appendVarBytes(body, &s.Header)
			body = appendVarBytes(body, &s.Header)
		}
		length := int64(len(body))
		if i == len(s.V)-1 {
			length += int64(s.RecLen)
		}
		records = append(binary.AppendVarint(records, length), body...)
	}
	return records, maxStamp
}

func (s *batchSpec) batch() ([]byte, error) {
	first := s.stamp(0)
	records, maxStamp := s.records(first)
	attr := s.Attr
	if s.Txn {
		attr |= 0x10
	}
	if s.Control {
		attr |= 0x20
	}
	if s.Gzip {
		attr |= 1
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(records)
		w.Close()
		records = b.Bytes()
	}
	n := int32(len(s.V))
	if s.Count == -99 {
		s.Count = n
	}
	if s.Last == -99 {
		s.Last = n - 1
	}
	if s.MaxTS == -99 {
		s.MaxTS = maxStamp
	}
	be := binary.BigEndian
	b := be.AppendUint64(nil, uint64(s.Base))
	b = be.AppendUint32(b, uint32(49+len(records))+uint32(s.Len))
	b = be.AppendUint32(b, uint32(s.Epoch))
	b = append(b, byte(s.Magic))
	b = be.AppendUint32(b, 0)
	b = be.AppendUint16(b, uint16(attr))
	b = be.AppendUint32(b, uint32(s.Last))
	b = be.AppendUint64(b, uint64(first))
	b = be.AppendUint64(b, uint64(s.MaxTS))
	b = be.AppendUint64(b, uint64(s.PID))
	b = be.AppendUint16(b, uint16(s.PEpoch))
	b = be.AppendUint32(b, uint32(s.Seq))
	b = be.AppendUint32(b, uint32(s.Count))
	b = append(b, records...)
	be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli)^uint32(s.CRC))
	return append(b[:len(b)-s.Cut], s.Tail...), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// messageSet builds the old format of magic 0 and 1, one message per value.
func (s *batchSpec) messageSet() []byte {
	be := binary.BigEndian
	var set []byte
	for i, v := range s.V {
		m := []byte{byte(s.Magic), byte(s.Attr)}
		if s.Magic == 1 {
			m = be.AppendUint64(m, uint64(s.stamp(i)))
		}
		var key *string
		if i < len(s.K) {
			key = s.K[i]
		}
		for _, f := range []*string{key, v} {
			if f == nil {
				m = be.AppendUint32(m, 0xffffffff)
			} else {
				m = append(be.AppendUint32(m, uint32(len(*f))), *f...)
			}
		}
		set = be.AppendUint64(set, uint64(s.Base)+uint64(i))
		set = be.AppendUint32(set, uint32(4+len(m)))
		set = be.AppendUint32(set, crc32.ChecksumIEEE(m)^uint32(s.CRC))
		set = append(set, m...)
	}
	return set
}

func appendVarBytes(b []byte, v *string) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(*v))), *v...)
}

// showBatches turns a record set from a fetch answer into something to read.
func showBatches(b []byte, n *normaliser) []any {
	list := []any{}
	for len(b) > 0 {
		if len(b) < 61 || int(binary.BigEndian.Uint32(b[8:]))+12 > len(b) || b[16] != 2 {
			return append(list, fmt.Sprintf("cut: %d bytes", len(b)))
		}
		size := int(binary.BigEndian.Uint32(b[8:])) + 12
		var h kmsg.RecordBatch
		if err := h.ReadFrom(b[:size]); err != nil {
			return append(list, err.Error())
		}
		out := fields{
			{"base", h.FirstOffset}, {"bytes", size}, {"leaderEpoch", h.PartitionLeaderEpoch}, {"attributes", h.Attributes},
			{"last", h.LastOffsetDelta}, {"first", n.number(h.FirstTimestamp)}, {"max", n.number(h.MaxTimestamp)},
			{"pid", n.producer(h.ProducerID)}, {"epoch", h.ProducerEpoch}, {"seq", h.FirstSequence}, {"count", h.NumRecords},
		}
		if crc32.Checksum(b[21:size], castagnoli) != uint32(h.CRC) {
			out = append(out, field{"crc", "wrong"})
		}
		b = b[size:]
		list = append(list, append(out, field{"records", showRecords(&h, n)}))
	}
	return list
}

func showRecords(h *kmsg.RecordBatch, n *normaliser) any {
	data := h.Records
	switch h.Attributes & 7 {
	case 0:
	case 1:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err.Error()
		}
		if data, err = io.ReadAll(r); err != nil {
			return err.Error()
		}
	default:
		return fmt.Sprintf("%d bytes with codec %d", len(data), h.Attributes&7)
	}
	out := []any{}
	for range min(h.NumRecords, 20) {
		length, used := binary.Varint(data)
		if used <= 0 || length < 0 || int(length)+used > len(data) {
			return append(out, "broken record")
		}
		var r kmsg.Record
		if err := r.ReadFrom(data[:int(length)+used]); err != nil {
			return append(out, err.Error())
		}
		data = data[int(length)+used:]
		key, value := showBytes(r.Key), showBytes(r.Value)
		if h.Attributes&0x20 != 0 {
			value = "<control>"
		}
		f := fields{{"offset", h.FirstOffset + int64(r.OffsetDelta)}, {"time", n.number(h.FirstTimestamp + r.TimestampDelta64)}, {"key", key}, {"value", value}}
		for _, hd := range r.Headers {
			f = append(f, field{"header", hd.Key})
		}
		out = append(out, f)
	}
	return out
}

// showBytes gives text as it is and anything else in hex; long values are shortened.
func showBytes(b []byte) any {
	if b == nil {
		return nil
	}
	s := string(b)
	if !utf8.Valid(b) || strings.IndexFunc(s, unicode.IsControl) >= 0 {
		s = "hex:" + hex.EncodeToString(b)
	}
	if len(s) > 200 {
		s = fmt.Sprintf("%s... (%d bytes)", s[:20], len(b))
	}
	return s
}
