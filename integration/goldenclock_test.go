package integration

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// withoutClocks blanks what the broker's clock and chance write into the files of a partition: the timestamps of
// markers and of internal records, in and around their values, with the checksums that cover them, and topic ids. Of a
// checkpoint the lines of the captured partitions are kept.
func withoutClocks(t *testing.T, path string, c Content, dirs []string) Content {
	internal := strings.HasPrefix(path, "__")
	data := slices.Clone(c.Data)
	ext := filepath.Ext(path)
	if ext == ".log" || ext == ".snapshot" {
		data = append(data, make([]byte, c.Size-int64(len(data)))...) // the zeros that Content leaves out
	}
	switch ext {
	case ".log":
		data = logWithoutClocks(t, path, data, internal)
	case ".snapshot":
		snapshotWithoutClocks(data)
	case ".timeindex":
		if internal {
			return Content{Size: c.Size}
		}
	default:
		if !strings.Contains(path, "/") && strings.HasSuffix(path, "-checkpoint") {
			data = linesOf(data, dirs)
			return Content{Size: int64(len(data)), Data: data}
		}
		return c
	}
	return Content{Size: c.Size, Data: data}
}

// logWithoutClocks words the batches of an internal log, and blanks the times of markers in other logs.
func logWithoutClocks(t *testing.T, path string, data []byte, internal bool) []byte {
	var words bytes.Buffer
	for rest := data; len(rest) > 0; {
		b, tail, err := record.Next(rest)
		if err != nil {
			break // the rest of the file is not written yet
		}
		if !b.ChecksumOK() {
			t.Errorf("%s: checksum of the batch at %d is wrong", path, b.BaseOffset())
		}
		if internal {
			wordBatch(t, &words, path, b)
		} else if b.IsControl() {
			clear(b[17:21]) // checksum
			clear(b[27:43]) // base and max timestamp
		}
		rest = tail
	}
	if internal {
		return words.Bytes()
	}
	return data
}

func wordBatch(t *testing.T, w *bytes.Buffer, path string, b record.Batch) {
	fmt.Fprintf(w, "%d size %d epoch %d attributes %x last %d producer %d/%d sequence %d span %d\n", b.BaseOffset(), b.Size(),
		b.LeaderEpoch(), b.Attributes(), b.LastOffset(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.MaxTimestamp()-b.BaseTimestamp())
	err := b.ForEach(1<<20, func(r *record.Record) error {
		fmt.Fprintf(w, "  %d %s %s\n", r.Offset, hex.EncodeToString(r.Key), wordValue(t, path, r, b.IsControl()))
		return nil
	})
	if err != nil {
		t.Errorf("%s: batch at %d: %v", path, b.BaseOffset(), err)
	}
}

// wordValue is the value with its timestamps and topic id at zero; the partitions of a transaction are in the order of
// a hash table and are sorted.
func wordValue(t *testing.T, path string, r *record.Record, control bool) string {
	if r.Value == nil || control {
		return hex.EncodeToString(r.Value)
	}
	if strings.HasPrefix(path, "__transaction_state") {
		v := kmsg.NewTxnMetadataValue()
		if err := v.ReadFrom(r.Value); err != nil {
			t.Errorf("%s: offset %d: %v", path, r.Offset, err)
		}
		v.LastUpdateTimestamp = 0
		v.StartTimestamp = min(v.StartTimestamp, 0)
		for i := range v.Topics {
			slices.Sort(v.Topics[i].Partitions)
		}
		slices.SortFunc(v.Topics, func(a, b kmsg.TxnMetadataValueTopic) int { return strings.Compare(a.Topic, b.Topic) })
		return hex.EncodeToString(v.AppendTo(nil))
	}
	v := kmsg.NewOffsetCommitValue()
	if binary.BigEndian.Uint16(r.Key) != 1 {
		return hex.EncodeToString(r.Value)
	}
	if err := v.ReadFrom(r.Value); err != nil {
		t.Errorf("%s: offset %d: %v", path, r.Offset, err)
	}
	v.CommitTimestamp, v.TopicID = 0, [16]byte{1}
	return hex.EncodeToString(v.AppendTo(nil))
}

// snapshotWithoutClocks blanks the times of producers whose last batch is a marker, and the checksum.
func snapshotWithoutClocks(data []byte) {
	const header, entry = 10, 46
	if len(data) <= header {
		return
	}
	clear(data[2:6])
	for e := data[header:]; len(e) >= entry; e = e[entry:] {
		if int32(binary.BigEndian.Uint32(e[34:])) >= 0 { // coordinator epoch
			clear(e[26:34])
		}
	}
}

// linesOf keeps the lines of a checkpoint that are about the captured partitions, sorted.
func linesOf(data []byte, dirs []string) []byte {
	var keep []string
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, l := range lines[min(2, len(lines)):] {
		if f := strings.Fields(l); len(f) == 3 && inDirs(f[0]+"-"+f[1], dirs) {
			keep = append(keep, l)
		}
	}
	slices.Sort(keep)
	return []byte(strings.Join(keep, "\n"))
}
