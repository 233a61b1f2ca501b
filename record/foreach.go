package record

// ForEach calls fn for each record in order, decompressing where needed. The
// record and what it points to are fn's only until it returns. The first error
// of fn ends the walk and is returned as it is; a batch whose records do not
// parse gives a *ValidationError.
//
// maxDecompressed bounds one record of a compressed batch in bytes, and with it
// the memory that is used; 0 is no bound. Records of an uncompressed batch are
// not copied.
func (b Batch) ForEach(maxDecompressed int, fn func(*Record) error) error {
	if b.Count() < 0 {
		return invalidRecord("negative number of records")
	}
	place := b.placing()
	if b.Codec() == None {
		return b.forEachPlain(place, fn)
	}
	if b.Count() == 0 && len(b.Payload()) == 0 {
		return nil // a compressed batch that the cleaner emptied
	}
	return b.forEachCompressed(place, maxDecompressed, fn)
}

// placing turns a record's deltas into offset and timestamp.
type placing struct {
	base, first, timestamp int64
	fixed                  bool // all records have timestamp
}

func (b Batch) placing() placing {
	place := placing{base: b.BaseOffset(), first: b.BaseTimestamp()}
	if b.TimestampType() == LogAppendTime {
		place.fixed, place.timestamp = true, b.MaxTimestamp()
	}
	return place
}

func (p *placing) set(r *Record) {
	r.Offset = p.base + int64(r.OffsetDelta)
	r.Timestamp += p.first
	if p.fixed {
		r.Timestamp = p.timestamp
	}
}

func (b Batch) forEachPlain(place placing, fn func(*Record) error) error {
	var r Record
	payload, at := b.Payload(), 0
	for range b.Count() {
		n, next := varint32(payload, at)
		if next < 0 || n < 0 || int(n) > len(payload)-next {
			return lengthFault(n, next, len(payload))
		}
		at = next + int(n)
		if !parseRecord(payload[next:at:at], &r) {
			return invalidRecord(textStructure)
		}
		place.set(&r)
		if err := fn(&r); err != nil {
			return err
		}
	}
	if at != len(payload) {
		return invalidRecord(textRemaining)
	}
	return nil
}

func (b Batch) forEachCompressed(place placing, maxDecompressed int, fn func(*Record) error) error {
	s, err := openStream(b.Codec(), b.Payload(), maxDecompressed)
	if err != nil {
		return err
	}
	defer s.release()
	var r Record
	for range b.Count() {
		if err := s.readRecord(&r); err != nil {
			return err
		}
		place.set(&r)
		if err := fn(&r); err != nil {
			return err
		}
	}
	return s.end()
}
