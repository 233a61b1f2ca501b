package dump

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// producers shows a snapshot of the producers of a partition.
func (d *Dumper) producers(path string) error {
	entries, err := logstore.ReadProducers(d.fs, path)
	if err != nil {
		return err
	}
	for _, p := range entries {
		l := &d.line
		l.begin(path, "producer")
		l.num("producerId", p.ProducerID)
		l.num("producerEpoch", int64(p.ProducerEpoch))
		l.num("coordinatorEpoch", int64(p.CoordinatorEpoch))
		l.optional("currentTxnFirstOffset", p.TxnFirstOffset, p.TxnFirstOffset >= 0)
		l.num("lastTimestamp", p.LastTimestamp)
		if p.HasBatch {
			l.num("firstSequence", int64(p.FirstSequence))
			l.num("lastSequence", int64(p.LastSequence))
			l.num("lastOffset", p.LastOffset)
			l.num("offsetDelta", int64(p.OffsetDelta))
			l.num("timestamp", p.LastTimestamp)
		}
		if err := d.emit(); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint shows the lines of a checkpoint file with the names of their fields.
func (d *Dumper) checkpoint(path string, names ...string) error {
	rows, corrupt := logstore.ReadCheckpointRows(d.fs, path, len(names))
	for _, row := range rows {
		l := &d.line
		l.begin(path, "checkpoint-entry")
		for i, name := range names {
			if n, err := strconv.ParseInt(row[i], 10, 64); err == nil && name != "topic" {
				l.num(name, n)
			} else {
				l.text(name, row[i])
			}
		}
		if err := d.emit(); err != nil {
			return err
		}
	}
	return corrupt
}

// maxTextBytes bounds the text files of a log dir, which have some hundred bytes.
const maxTextBytes = 1 << 20

// textFile shows a file that is text already: its lines, or in JSON what they say.
func (d *Dumper) textFile(path string, kind fileKind) error {
	info, err := d.fs.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxTextBytes {
		return &logstore.CorruptError{File: path, Offset: maxTextBytes, Err: logstore.ErrMalformed}
	}
	data, err := vfs.ReadFile(d.fs, path)
	if err != nil {
		return err
	}
	if !d.o.JSON {
		_, err := d.out.Write(append(bytes.TrimRight(data, "\n"), '\n'))
		return err
	}
	l := &d.line
	l.begin(path, strings.TrimPrefix(filepath.Base(path), "."))
	separator := ":"
	if kind == properties {
		separator = "="
	}
	if bytes.HasPrefix(data, []byte("{")) && json.Valid(data) {
		var flat bytes.Buffer
		if err := json.Compact(&flat, data); err != nil {
			return err
		}
		l.raw("value", flat.Bytes())
		return d.emit()
	}
	for text := range strings.Lines(javaString(data)) {
		key, value, ok := strings.Cut(strings.TrimSpace(text), separator)
		if ok && !strings.HasPrefix(key, "#") {
			l.text(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
	return d.emit()
}
