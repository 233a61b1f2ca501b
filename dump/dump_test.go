package dump

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// write makes a file.
func write(t *testing.T, fsys vfs.FS, path string, data []byte) {
	t.Helper()
	if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err == nil {
		_, err = f.WriteAt(data, 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// batchOf builds a batch.
func batchOf(t *testing.T, o record.BuilderOptions, records ...record.Record) record.Batch {
	t.Helper()
	b := record.NewBuilder(o)
	for _, r := range records {
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// show dumps a path and returns what it says and complains about.
func show(t *testing.T, fsys vfs.FS, path string, o Options) (out, complaints string, found int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.FS, o.Out, o.Complaints = fsys, &stdout, &stderr
	d := New(o)
	if err := d.Path(path); err != nil {
		t.Fatal(err)
	}
	found, err := d.Close()
	if err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), found
}

const segmentName = "/data/t-0/00000000000000000005.log"

func TestLogLines(t *testing.T) {
	mem := vfs.NewMem()
	first := batchOf(t, record.BuilderOptions{BaseOffset: 5, LeaderEpoch: 2, Producer: &record.Producer{ID: 7, Epoch: 1, BaseSequence: 3}},
		record.Record{Timestamp: 100, Key: []byte("k"), Value: []byte("v\xff")},
		record.Record{Timestamp: 101, Headers: []record.RecordHeader{{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("b")}}})
	marker := record.BuildMarker(record.MarkerOptions{Offset: 7, TimestampMs: 102, ProducerID: 7, ProducerEpoch: 1, Marker: record.Marker{Commit: true, CoordinatorEpoch: 4}})
	write(t, mem, segmentName, append(append(append([]byte{}, first...), marker...), "torn"...))
	out, complaints, found := show(t, mem, segmentName, Options{})
	want := `Dumping /data/t-0/00000000000000000005.log
Log starting offset: 5
baseOffset: 5 lastOffset: 6 count: 2 baseSequence: 3 lastSequence: 4 producerId: 7 producerEpoch: 1 partitionLeaderEpoch: 2 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 101 size: 85 magic: 2 compresscodec: none crc: CRC isvalid: true
| offset: 5 CreateTime: 100 keySize: 1 valueSize: 2 sequence: 3 headerKeys: [] key: k payload: v` + "\uFFFD" + `
| offset: 6 CreateTime: 101 keySize: -1 valueSize: -1 sequence: 4 headerKeys: [a,b]
baseOffset: 7 lastOffset: 7 count: 1 baseSequence: -1 lastSequence: -1 producerId: 7 producerEpoch: 1 partitionLeaderEpoch: 0 isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty position: 85 CreateTime: 102 size: 78 magic: 2 compresscodec: none crc: CRC isvalid: true
| offset: 7 CreateTime: 102 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 4
Found 4 invalid bytes at the end of 00000000000000000005.log
`
	if got := withoutCRC(out); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if complaints != "Non-consecutive offsets in "+segmentName+"\n  -1 is followed by 5\n" || found != 0 {
		t.Errorf("%d: %s", found, complaints)
	}
	if out, _, _ := show(t, mem, segmentName, Options{BatchesOnly: true}); strings.Contains(out, "| ") || strings.Count(out, "baseOffset") != 2 {
		t.Errorf("batches only: %s", out)
	}
	if out, _, _ := show(t, mem, segmentName, Options{NoData: true}); strings.Contains(out, "payload") || !strings.Contains(out, "| offset: 5") {
		t.Errorf("without data: %s", out)
	}
	json, _, _ := show(t, mem, segmentName, Options{JSON: true})
	checkJSON(t, json, []string{
		`"type":"batch","baseOffset":5,`, `"type":"record","offset":5,"timestampType":"CreateTime","timestamp":100,"keySize":1,"valueSize":2,"sequence":3,"headers":[],"key":"k","value":{"base64":"dv8="}}`,
		`"headers":[{"key":"a","value":"1"},{"key":"b","value":null}],"key":null,"value":null}`, `"isControl":true,"deleteHorizonMs":null,`,
		`"endTxnMarker":"COMMIT","coordinatorEpoch":4}`, `"type":"trailing","bytes":4}`})
}

// withoutCRC blanks the checksums.
func withoutCRC(s string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(s, " crc: ")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		out.WriteString(" crc: CRC")
		s = strings.TrimLeft(rest, "0123456789")
	}
}

// checkJSON wants a line for each text, all of them JSON.
func checkJSON(t *testing.T, out string, want []string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out)
	}
	for i, line := range lines {
		if !json.Valid([]byte(line)) || !strings.Contains(line, want[i]) || !strings.HasPrefix(line, `{"file":"/`) {
			t.Errorf("line %d is %s, want %s", i, line, want[i])
		}
	}
}

func TestDamagedLog(t *testing.T) {
	mem := vfs.NewMem()
	good := batchOf(t, record.BuilderOptions{BaseOffset: 0}, record.Record{Timestamp: 1, Value: []byte("value")})
	bad := bytes.Clone(good)
	bad[len(bad)-2] ^= 1
	broken := batchOf(t, record.BuilderOptions{BaseOffset: 1}, record.Record{Timestamp: 1, Value: []byte("value")})
	broken[record.HeaderSize] = 0x7e // the record claims to be longer
	old := bytes.Clone(good)
	old[16] = 1
	write(t, mem, "/d/t-0/00000000000000000000.log", bytes.Join([][]byte{bad, broken, old, good}, nil))
	out, complaints, found := show(t, mem, "/d", Options{})
	for _, want := range []string{"isvalid: false", "magic: 1\n", "payload: "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	for _, want := range []string{"Checksums do not match in /d/t-0/00000000000000000000.log\n  batch at 0, offset 0", "Records cannot be read",
		"Not of format 2"} {
		if !strings.Contains(complaints, want) {
			t.Errorf("no %q in %s", want, complaints)
		}
	}
	if found != 4 { // the broken one has a wrong checksum too
		t.Errorf("%d findings: %s", found, complaints)
	}
}

func TestIndexes(t *testing.T) {
	mem := vfs.NewMem()
	var log []byte
	for i := range int64(3) {
		log = append(log, batchOf(t, record.BuilderOptions{BaseOffset: i}, record.Record{Timestamp: 100 + i, Value: []byte("v")})...)
	}
	size := len(log) / 3
	const base = "/d/t-0/00000000000000000000"
	write(t, mem, base+".log", log)
	index := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 1), uint32(size))
	index = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(index, 2), uint32(size)) // that is where 1 is
	write(t, mem, base+".index", append(index, make([]byte, 80)...))
	times := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, 101), 1)
	times = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(times, 99), 2)
	times = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(times, 200), 9)
	write(t, mem, base+".timeindex", append(times, make([]byte, 120)...))
	write(t, mem, "/d/lone-0/00000000000000000007.index", make([]byte, 16))
	write(t, mem, "/d/lone-0/00000000000000000008.timeindex", nil)
	out, complaints, found := show(t, mem, "/d/t-0", Options{NoData: true, BatchesOnly: true})
	if !strings.Contains(out, ".index\noffset: 1 position: 69\noffset: 2 position: 69\n") ||
		!strings.HasSuffix(out, ".timeindex\ntimestamp: 101 offset: 1\ntimestamp: 99 offset: 2\ntimestamp: 200 offset: 9\n") {
		t.Errorf("got %s", out)
	}
	for _, want := range []string{"Index offset: 2, log offset: 1", "Indexed offset: 9, found log offset: -1", "Index timestamp: 99, log timestamp: 102",
		"Index timestamp: 99, Previously indexed timestamp: 101"} {
		if !strings.Contains(complaints, want) {
			t.Errorf("no %q in %s", want, complaints)
		}
	}
	if found != 4 {
		t.Errorf("%d findings: %s", found, complaints)
	}
	out, complaints, found = show(t, mem, "/d/lone-0", Options{})
	if !strings.Contains(out, "offset: 7 position: 0\n") || found != 0 || !strings.Contains(complaints, "No log to hold the index against:") {
		t.Errorf("%s%s", out, complaints)
	}
	if out, _, _ := show(t, mem, "/d/lone-0", Options{JSON: true}); out != "" {
		t.Errorf("an index without entries has in JSON %s", out)
	}
}

func TestStateFiles(t *testing.T) {
	mem := vfs.NewMem()
	write(t, mem, "/d/recovery-point-offset-checkpoint", []byte("0\n2\nt 0 5\nt 1 6\n"))
	write(t, mem, "/d/t-0/leader-epoch-checkpoint", []byte("0\n1\n3 7\n"))
	write(t, mem, "/d/t-1/leader-epoch-checkpoint", []byte("0\n2\n3 7\n"))
	write(t, mem, "/d/t-0/partition.metadata", []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"))
	write(t, mem, "/d/meta.properties", []byte("#\n#now\nnode.id=1\ncluster.id=abc\n"))
	write(t, mem, "/d/.kafka_cleanshutdown", []byte(`{"version":0,"brokerEpoch":9}`))
	write(t, mem, "/d/t-0/00000000000000000003.txnindex", append([]byte{0, 0}, make([]byte, 32)...))
	write(t, mem, "/d/t-0/00000000000000000003.snapshot", []byte("short"))
	write(t, mem, "/d/.lock", nil)
	write(t, mem, "/d/t-0/notes.md", []byte("no file of a log dir"))
	out, complaints, found := show(t, mem, "/d", Options{})
	want := `Dumping /d/.kafka_cleanshutdown
{"version":0,"brokerEpoch":9}
Dumping /d/meta.properties
#
#now
node.id=1
cluster.id=abc
Dumping /d/recovery-point-offset-checkpoint
topic: t partition: 0 offset: 5
topic: t partition: 1 offset: 6
Dumping /d/t-0/00000000000000000003.snapshot
Dumping /d/t-0/00000000000000000003.txnindex
version: 0 producerId: 0 firstOffset: 0 lastOffset: 0 lastStableOffset: 0
Dumping /d/t-0/leader-epoch-checkpoint
epoch: 3 startOffset: 7
Dumping /d/t-0/partition.metadata
version: 0
topic_id: AAAAAAAAAAAAAAAAAAAAAQ
Dumping /d/t-1/leader-epoch-checkpoint
epoch: 3 startOffset: 7
`
	if out != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
	if found != 2 || !strings.Contains(complaints, "Corrupt: /d/t-0/00000000000000000003.snapshot\n") || !strings.Contains(complaints, "Corrupt: /d/t-1/leader-epoch-checkpoint\n") {
		t.Errorf("%d findings: %s", found, complaints)
	}
	out, _, _ = show(t, mem, "/d", Options{JSON: true})
	checkJSON(t, out, []string{`"type":"kafka_cleanshutdown","value":{"version":0,"brokerEpoch":9}}`, `"type":"meta.properties","node.id":"1","cluster.id":"abc"}`,
		`"type":"checkpoint-entry","topic":"t","partition":0,"offset":5}`, `"partition":1,"offset":6}`, `"type":"aborted-transaction","version":0,`,
		`"epoch":3,"startOffset":7}`, `"type":"partition.metadata","version":"0","topic_id":"AAAAAAAAAAAAAAAAAAAAAQ"}`, `"epoch":3,"startOffset":7}`})
	if err := New(Options{FS: mem, Out: &bytes.Buffer{}}).Path("/d/t-0/notes.md"); !errors.Is(err, errUnknown) {
		t.Errorf("an unknown file: %v", err)
	}
	if err := New(Options{FS: mem, Out: &bytes.Buffer{}}).Path("/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestProducers(t *testing.T) {
	entry := func(id, lastOffset, txn uint64) []byte {
		b := binary.BigEndian.AppendUint64(nil, id)
		b = binary.BigEndian.AppendUint16(b, 2)          // epoch
		b = binary.BigEndian.AppendUint32(b, 11)         // last sequence
		b = binary.BigEndian.AppendUint64(b, lastOffset) //
		b = binary.BigEndian.AppendUint32(b, 1)          // offset delta
		b = binary.BigEndian.AppendUint64(b, 99)         // timestamp
		b = binary.BigEndian.AppendUint32(b, 4)          // coordinator epoch
		return binary.BigEndian.AppendUint64(b, txn)
	}
	body := append(binary.BigEndian.AppendUint32(nil, 2), append(entry(7, 30, 20), entry(8, ^uint64(0), ^uint64(0))...)...)
	data := binary.BigEndian.AppendUint32([]byte{0, 1}, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	mem := vfs.NewMem()
	const path = "/d/t-0/00000000000000000031.snapshot"
	write(t, mem, path, append(data, body...))
	out, complaints, _ := show(t, mem, path, Options{})
	want := "Dumping " + path + `
producerId: 7 producerEpoch: 2 coordinatorEpoch: 4 currentTxnFirstOffset: OptionalLong[20] lastTimestamp: 99 firstSequence: 10 lastSequence: 11 lastOffset: 30 offsetDelta: 1 timestamp: 99
producerId: 8 producerEpoch: 2 coordinatorEpoch: 4 currentTxnFirstOffset: OptionalLong.empty lastTimestamp: 99
`
	if out != want || complaints != "" {
		t.Errorf("got\n%swant\n%s%s", out, want, complaints)
	}
}
