package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	"minibroker/internal/vfs"
)

// A snapshot file holds the producers of a partition as they were before the
// offset in its name:
//
//	0   i16  version 1
//	2   u32  CRC-32C of everything from byte 6 on
//	6   i32  number of entries
//	10       entries of 46 bytes
//
// An entry:
//
//	0   i64  producer id
//	8   i16  producer epoch
//	10  i32  last sequence, -1 when no batch is remembered
//	14  i64  last offset, -1 likewise
//	22  i32  last offset minus first offset of that batch, 0 likewise
//	26  i64  timestamp, ms: the batch's max timestamp or the marker's
//	34  i32  coordinator epoch, -1 before the first marker
//	38  i64  first offset of the open transaction, -1 when none is open
//	46
//
// Only the newest batch of a producer is kept.
const (
	snapshotVersion    = 1
	snapshotHeadSize   = 10
	snapshotEntrySize  = 46
	snapshotCRCFrom    = 6
	noSequence         = int32(-1)
	noProducerEpoch    = int16(-1)
	noCoordinatorEpoch = int32(-1)
	noOffset           = int64(-1)
)

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

// encodeSnapshot lays the entries out in the order given.
func encodeSnapshot(entries []*producerEntry) []byte {
	b := make([]byte, snapshotHeadSize, snapshotHeadSize+len(entries)*snapshotEntrySize)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[6:], uint32(len(entries)))
	for _, e := range entries {
		last := e.lastBatch()
		b = binary.BigEndian.AppendUint64(b, uint64(e.id))
		b = binary.BigEndian.AppendUint16(b, uint16(e.epoch))
		b = binary.BigEndian.AppendUint32(b, uint32(last.lastSequence))
		b = binary.BigEndian.AppendUint64(b, uint64(last.lastOffset))
		b = binary.BigEndian.AppendUint32(b, uint32(last.offsetDelta))
		b = binary.BigEndian.AppendUint64(b, uint64(e.lastTimestamp))
		b = binary.BigEndian.AppendUint32(b, uint32(e.coordinatorEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.txnFirstOffset))
	}
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[snapshotCRCFrom:], castagnoliTable))
	return b
}

// decodeSnapshot reads a snapshot; name is for errors, which are all
// *CorruptError.
func decodeSnapshot(name string, b []byte) ([]*producerEntry, error) {
	fail := func(at int64, err error) ([]*producerEntry, error) {
		return nil, &CorruptError{File: name, Offset: at, Err: err}
	}
	if len(b) < snapshotHeadSize {
		return fail(int64(len(b)), fmt.Errorf("%w: %d bytes", ErrMalformed, len(b)))
	}
	if v := int16(binary.BigEndian.Uint16(b)); v != snapshotVersion {
		return fail(0, fmt.Errorf("%w: %d", ErrVersion, v))
	}
	if stored, sum := binary.BigEndian.Uint32(b[2:]), crc32.Checksum(b[snapshotCRCFrom:], castagnoliTable); stored != sum {
		return fail(2, fmt.Errorf("%w: stored %#08x, computed %#08x", ErrChecksum, stored, sum))
	}
	count := int64(int32(binary.BigEndian.Uint32(b[6:])))
	rest := b[snapshotHeadSize:]
	if count < 0 || count*snapshotEntrySize != int64(len(rest)) {
		return fail(6, fmt.Errorf("%w: %d entries in %d bytes", ErrMalformed, count, len(rest)))
	}
	entries := make([]*producerEntry, 0, count)
	for ; len(rest) > 0; rest = rest[snapshotEntrySize:] {
		entries = append(entries, decodeProducer(rest))
	}
	return entries, nil
}

func decodeProducer(b []byte) *producerEntry {
	e := &producerEntry{
		id:               int64(binary.BigEndian.Uint64(b)),
		epoch:            int16(binary.BigEndian.Uint16(b[8:])),
		lastTimestamp:    int64(binary.BigEndian.Uint64(b[26:])),
		coordinatorEpoch: int32(binary.BigEndian.Uint32(b[34:])),
		txnFirstOffset:   int64(binary.BigEndian.Uint64(b[38:])),
	}
	last := batchMeta{
		lastSequence: int32(binary.BigEndian.Uint32(b[10:])),
		lastOffset:   int64(binary.BigEndian.Uint64(b[14:])),
		offsetDelta:  int32(binary.BigEndian.Uint32(b[22:])),
		timestamp:    e.lastTimestamp,
	}
	if last.lastOffset >= 0 {
		e.addBatch(last)
	}
	return e
}

// readSnapshot reads the file at path.
func readSnapshot(fsys vfs.FS, path string) ([]*producerEntry, error) {
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	return decodeSnapshot(path, b)
}

// writeSnapshot writes the file at path in place, as Kafka does: a torn one is
// found by its checksum, and the one before it is used.
func writeSnapshot(fsys vfs.FS, path string, data []byte, sync bool) error {
	file, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, 0)
	if err == nil && sync {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		// Half a snapshot must not stand where the next start looks first.
		if removeErr := fsys.Remove(path); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}
