package record

import (
	"fmt"
	"io"
	"math"
	"sync"
)

// windowSize is how much of a decompressed batch lies in memory at once, apart
// from a record that has to be looked at as a whole.
const windowSize = 16 << 10

// keepRecord is the largest record buffer that goes back to the pool, in bytes.
const keepRecord = 256 << 10

// stream reads records one after another from a decompressor.
type stream struct {
	codec   Codec
	source  decompressor
	maxBody int32 // largest record length

	window [windowSize]byte
	lo, hi int    // the bytes in window that are not used yet
	body   []byte // buffer for one whole record
}

var streams = sync.Pool{New: func() any { return new(stream) }}

// openStream starts on the compressed payload of a batch. maxBody bounds one
// record in bytes; 0 is no bound.
func openStream(c Codec, payload []byte, maxBody int) (*stream, error) {
	source, err := openDecompressor(c, payload)
	if err != nil {
		return nil, err
	}
	s := streams.Get().(*stream)
	s.codec, s.source, s.lo, s.hi = c, source, 0, 0
	s.maxBody = math.MaxInt32
	if maxBody > 0 && maxBody < math.MaxInt32 {
		s.maxBody = int32(maxBody)
	}
	return s, nil
}

func (s *stream) release() {
	s.source.release()
	s.source = nil
	if cap(s.body) > keepRecord {
		s.body = nil
	}
	streams.Put(s)
}

// fill puts more bytes into the empty window; io.EOF at the end.
func (s *stream) fill() error {
	for empty := 0; empty < 100; empty++ {
		n, err := s.source.Read(s.window[:])
		if n > 0 {
			s.lo, s.hi = 0, n
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// fault turns an error of fill into the reason to refuse the batch. A stream
// that ends within a record is a record that is missing.
func (s *stream) fault(err error) error {
	if err == io.EOF || err == errCutGzip {
		return invalidRecord(textPremature)
	}
	return &ValidationError{Kind: ErrBadCompression, Detail: fmt.Sprintf("%v: %v", s.codec, err)}
}

func (s *stream) readByte() (byte, error) {
	if s.lo == s.hi {
		if err := s.fill(); err != nil {
			return 0, s.fault(err)
		}
	}
	c := s.window[s.lo]
	s.lo++
	return c, nil
}

// uvarint reads a number of at most size bytes.
func (s *stream) uvarint(size int) (u uint64, err error) {
	for i := range size {
		c, err := s.readByte()
		if err != nil {
			return 0, err
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, nil
		}
	}
	return 0, invalidRecord(textStructure)
}

func (s *stream) varint32() (int32, error) {
	// A whole number in the window is the usual case.
	if v, at := varint32(s.window[:s.hi], s.lo); at >= 0 {
		s.lo = at
		return v, nil
	}
	u, err := s.uvarint(5)
	return unzigzag32(uint32(u)), err
}

func (s *stream) varint64() (int64, error) {
	if v, at := varint64(s.window[:s.hi], s.lo); at >= 0 {
		s.lo = at
		return v, nil
	}
	u, err := s.uvarint(10)
	return unzigzag64(u), err
}

func (s *stream) skip(n int32) error {
	for n > 0 {
		if s.lo == s.hi {
			if err := s.fill(); err != nil {
				return s.fault(err)
			}
		}
		step := min(int(n), s.hi-s.lo)
		s.lo += step
		n -= int32(step)
	}
	return nil
}

// length reads the length field of a record.
func (s *stream) length() (int32, error) {
	n, err := s.varint32()
	if err != nil {
		if e, ok := err.(*ValidationError); ok && e.Detail == textStructure {
			// Kafka finds no error of its own for this one.
			return 0, &ValidationError{Kind: ErrUnreadable, Detail: "the length of a record is no number"}
		}
		return 0, err
	}
	if n < 0 {
		return 0, invalidRecord(fmt.Sprintf("invalid negative record size %d", n))
	}
	if n > s.maxBody {
		return 0, invalidRecord(fmt.Sprintf("record size %d is larger than %d", n, s.maxBody))
	}
	return n, nil
}

// skipRecord reads over one record. Like Kafka it goes by the fields and does
// not compare them with the record's length.
func (s *stream) skipRecord(r *brief) error {
	if _, err := s.length(); err != nil {
		return err
	}
	if _, err := s.readByte(); err != nil { // attributes
		return err
	}
	var err error
	if r.timestampDelta, err = s.varint64(); err != nil {
		return err
	}
	if r.offsetDelta, err = s.varint32(); err != nil {
		return err
	}
	if r.keyLength, err = s.skipNullable(); err != nil {
		return err
	}
	if r.valueLength, err = s.skipNullable(); err != nil {
		return err
	}
	return s.skipHeaders()
}

func (s *stream) skipNullable() (int32, error) {
	n, err := s.varint32()
	if err != nil {
		return 0, err
	}
	return n, s.skip(n)
}

func (s *stream) skipHeaders() error {
	headers, err := s.varint32()
	if err != nil {
		return err
	}
	if headers < 0 {
		return invalidRecord(textHeaderCount)
	}
	for range headers {
		n, err := s.skipNullable()
		if err != nil {
			return err
		}
		if n < 0 {
			return invalidRecord("found a record header without a key")
		}
		if _, err := s.skipNullable(); err != nil {
			return err
		}
	}
	return nil
}

// readRecord reads one record into r, as parseRecord does. It points into a
// buffer that the next call overwrites.
func (s *stream) readRecord(r *Record) error {
	n, err := s.length()
	if err != nil {
		return err
	}
	// The buffer grows with what really comes, not with what is announced.
	s.body = s.body[:0]
	for len(s.body) < int(n) {
		if s.lo == s.hi {
			if err := s.fill(); err != nil {
				return s.fault(err)
			}
		}
		step := min(int(n)-len(s.body), s.hi-s.lo)
		s.body = append(s.body, s.window[s.lo:s.lo+step]...)
		s.lo += step
	}
	if !parseRecord(s.body, r) {
		return invalidRecord(textStructure)
	}
	return nil
}

// end checks that nothing follows the last record.
func (s *stream) end() error {
	if s.lo < s.hi {
		return invalidRecord(textRemaining)
	}
	switch err := s.fill(); err {
	case io.EOF:
		return nil
	case nil:
		return invalidRecord(textRemaining)
	default:
		return &ValidationError{Kind: ErrBadCompression, Detail: fmt.Sprintf("%v: %v", s.codec, err)}
	}
}
