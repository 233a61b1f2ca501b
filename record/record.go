package record

import "fmt"

// A record:
//
//	varint  length          bytes after this field
//	i8      attributes      0
//	varint  timestampDelta  64 bits, may be negative
//	varint  offsetDelta
//	varint  key length, key; -1 = null
//	varint  value length, value; -1 = null
//	varint  number of headers, then for each:
//	        varint key length, key (UTF-8, not null), varint value length, value; -1 = null

// Record is one record of a batch.
type Record struct {
	Offset      int64
	Timestamp   int64  // ms; -1 none; the batch's largest under LogAppendTime
	OffsetDelta int32  // Offset less the batch's base offset
	Key, Value  []byte // nil for null
	Headers     []RecordHeader
}

// RecordHeader is one of a record's headers.
type RecordHeader struct {
	Key   []byte // UTF-8, never null
	Value []byte // nil for null
}

// String is Kafka's description of a record in its messages.
func (r *Record) String() string {
	return fmt.Sprintf("DefaultRecord(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)",
		r.Offset, r.Timestamp, len(r.Key), len(r.Value))
}

// brief is what validation needs to know of a record.
type brief struct {
	timestampDelta int64
	offsetDelta    int32
	keyLength      int32 // negative: null
	valueLength    int32 // negative: null
}

// Texts of Kafka's for what is wrong with a batch's records; clients do not see
// them, the broker's log does.
const (
	textStructure   = "found invalid record structure"
	textPremature   = "incorrect declared batch size, records are missing"
	textRemaining   = "incorrect declared batch size, records still remaining"
	textHeaderCount = "found invalid number of record headers"
)

// skipRecord walks over the fields of the record body b, without the length,
// and tells whether they fill it exactly. It must not allocate: it runs over
// every byte that is produced.
func skipRecord(b []byte, r *brief) bool { return skipUsual(b, r) || skipAny(b, r) }

// shortVarint reads an unsigned number of one or two bytes at b[at:], where two
// bytes are known to be; size 0 says that it is longer. It is small enough to be
// inlined.
func shortVarint(b []byte, at int) (u uint32, size int) {
	low := uint32(b[at])
	if low < 0x80 {
		return low, 1
	}
	high := uint32(b[at+1])
	if high < 0x80 {
		return low&0x7f | high<<7, 2
	}
	return 0, 0
}

// skipUsual is skipRecord for records without headers whose key and value are
// shorter than 8 KiB; of all others it says false. It takes half the time.
func skipUsual(b []byte, r *brief) bool {
	const fixed = 6 // the fewest bytes of a record body
	if len(b) < fixed || b[len(b)-1] != 0 {
		return false
	}
	u, size := shortVarint(b, 1)
	at := 1 + size
	r.timestampDelta = int64(unzigzag32(u))
	if size == 0 {
		if r.timestampDelta, at = longVarint64(b, 1); at < 0 {
			return false
		}
	}
	if at+1 >= len(b) {
		return false
	}
	if u, size = shortVarint(b, at); size == 0 {
		return false
	}
	r.offsetDelta = unzigzag32(u)
	if at += size; at+1 >= len(b) {
		return false
	}
	if u, size = shortVarint(b, at); size == 0 {
		return false
	}
	r.keyLength = unzigzag32(u)
	if at += size + int(max(r.keyLength, 0)); at+1 >= len(b) {
		return false
	}
	if u, size = shortVarint(b, at); size == 0 {
		return false
	}
	r.valueLength = unzigzag32(u)
	return at+size+int(max(r.valueLength, 0)) == len(b)-1
}

// skipAny is skipRecord without haste.
func skipAny(b []byte, r *brief) bool {
	if len(b) == 0 {
		return false
	}
	at := 1 // attributes
	if r.timestampDelta, at = varint64(b, at); at < 0 {
		return false
	}
	if r.offsetDelta, at = varint32(b, at); at < 0 {
		return false
	}
	if r.keyLength, at = varint32(b, at); at < 0 {
		return false
	}
	at += int(max(r.keyLength, 0))
	if r.valueLength, at = varint32(b, at); at < 0 {
		return false
	}
	at += int(max(r.valueLength, 0))
	headers, at := varint32(b, at)
	if at < 0 || headers < 0 || int(headers) > len(b)-at {
		return false
	}
	for range headers {
		var n int32
		if n, at = varint32(b, at); at < 0 || n < 0 {
			return false
		}
		at += int(n)
		if n, at = varint32(b, at); at < 0 {
			return false
		}
		at += int(max(n, 0))
	}
	return at == len(b)
}

// parseRecord reads the record body b into r, whose Headers it reuses. Key,
// Value and Headers point into b. Offset and Timestamp are left as deltas.
func parseRecord(b []byte, r *Record) bool {
	var fields brief
	if !skipRecord(b, &fields) {
		return false
	}
	// All lengths are known to be right from here on.
	at := 1 + varintAt(b, 1)
	at += varintAt(b, at)
	r.Timestamp, r.OffsetDelta = fields.timestampDelta, fields.offsetDelta
	r.Key, at = nullable(b, at)
	r.Value, at = nullable(b, at)
	headers, at := varint32(b, at)
	r.Headers = r.Headers[:0]
	for range headers {
		var h RecordHeader
		h.Key, at = nullable(b, at)
		h.Value, at = nullable(b, at)
		r.Headers = append(r.Headers, h)
	}
	return true
}

// varintAt returns the size of the whole number at b[at:].
func varintAt(b []byte, at int) int {
	n := 1
	for b[at] >= 0x80 {
		at++
		n++
	}
	return n
}

// nullable reads length and bytes at b[at:], which are known to be there.
func nullable(b []byte, at int) ([]byte, int) {
	n, at := varint32(b, at)
	if n < 0 {
		return nil, at
	}
	end := at + int(n)
	return b[at:end:end], end
}

// bodySize returns the value of a record's length field.
func bodySize(r *Record, timestampDelta int64, offsetDelta int32) int {
	n := 1 + varintSize(timestampDelta) + varintSize(int64(offsetDelta)) +
		nullableSize(r.Key) + nullableSize(r.Value) + varintSize(int64(len(r.Headers)))
	for i := range r.Headers {
		n += varintSize(int64(len(r.Headers[i].Key))) + len(r.Headers[i].Key) + nullableSize(r.Headers[i].Value)
	}
	return n
}

func nullableSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

// appendRecord encodes a record. Timestamp and offset of r are not looked at.
func appendRecord(dst []byte, r *Record, timestampDelta int64, offsetDelta int32) []byte {
	dst = appendVarint(dst, int64(bodySize(r, timestampDelta, offsetDelta)))
	return appendRecordBody(dst, r, timestampDelta, offsetDelta)
}

// appendRecordBody encodes a record without its length.
func appendRecordBody(dst []byte, r *Record, timestampDelta int64, offsetDelta int32) []byte {
	dst = append(dst, 0)
	dst = appendVarint(dst, timestampDelta)
	dst = appendVarint(dst, int64(offsetDelta))
	dst = appendNullable(dst, r.Key)
	dst = appendNullable(dst, r.Value)
	dst = appendVarint(dst, int64(len(r.Headers)))
	for i := range r.Headers {
		dst = appendVarint(dst, int64(len(r.Headers[i].Key)))
		dst = append(dst, r.Headers[i].Key...)
		dst = appendNullable(dst, r.Headers[i].Value)
	}
	return dst
}

func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return appendVarint(dst, -1)
	}
	dst = appendVarint(dst, int64(len(b)))
	return append(dst, b...)
}
