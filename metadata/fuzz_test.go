package metadata

import (
	"bytes"
	"reflect"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/record"
)

func FuzzRecord(f *testing.F) {
	for _, name := range goldenDirs() {
		goldenBatches(f, name, func(_ string, b record.Batch) {
			if err := b.ForEach(maxBatchBytes, func(r *record.Record) error {
				f.Add(bytes.Clone(r.Key), bytes.Clone(r.Value))
				return nil
			}); err != nil {
				f.Fatal(err)
			}
		})
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if r, version, err := DecodeRecord(value); err == nil {
			again, _, err := DecodeRecord(AppendRecord(nil, r, version))
			if err != nil || !same(r, again) {
				t.Fatalf("%v: %#v is read back as %#v", err, r, again)
			}
			e := newImage(&Options{NodeID: 1}).edit(nil)
			if e.apply(r) == nil {
				if image, err := e.done(); err == nil {
					image.stateRecords()
				}
			}
		}
		if r, version, err := DecodeControl(key, value); err == nil {
			k, v := encodeControl(r, version)
			again, _, err := DecodeControl(k, v)
			if err != nil || !same(r, again) {
				t.Fatalf("%v: %#v is read back as %#v", err, r, again)
			}
		}
	})
}

// same compares records. Not-a-number differs from itself, and a list that is
// empty by default may be read as nil.
func same(a, b any) bool {
	if q, ok := a.(*ClientQuotaRecord); ok && q.Value != q.Value {
		return true
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	switch a := a.(type) {
	case *RegisterBrokerRecord:
		b := *b.(*RegisterBrokerRecord)
		b.LogDirs = a.LogDirs
		return len(a.LogDirs) == 0 && reflect.DeepEqual(a, &b)
	case *BrokerRegistrationChangeRecord:
		b := *b.(*BrokerRegistrationChangeRecord)
		b.LogDirs = a.LogDirs
		return len(a.LogDirs) == 0 && reflect.DeepEqual(a, &b)
	}
	return false
}

func FuzzSnapshot(f *testing.F) {
	for _, name := range goldenDirs() {
		for file, data := range goldenFiles(f, name) {
			if _, ok := parseSnapshotName(file); ok {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fixChecksums(data)
		e := newImage(&Options{NodeID: 1}).edit(nil)
		if _, err := decodeSnapshot(data, func(s stored) error { return applyStored(e, s) }); err != nil {
			return
		}
		image, err := e.done()
		if err != nil || image.level() == 0 {
			return
		}
		id := SnapshotID{End: 1, Epoch: 1}
		out, err := encodeSnapshot(id, image.controlRecords(), image.stateRecords(), levelMax, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		e = newImage(&Options{NodeID: 1}).edit(nil)
		if _, err := decodeSnapshot(out, func(s stored) error { return applyStored(e, s) }); err != nil {
			t.Fatalf("a snapshot of what was read: %v", err)
		}
		if again, err := e.done(); err != nil || len(again.sorted) != len(image.sorted) || again.acls.len() != image.acls.len() {
			t.Fatalf("%v: %+v, want %+v", err, again, image)
		}
	})
}

// fixChecksums lets the fuzzer change what a checksum covers.
func fixChecksums(data []byte) {
	for rest := data; len(rest) > 0; {
		b, tail, err := record.Next(rest)
		if err != nil {
			return
		}
		now := b.MaxTimestamp()
		if b.TimestampType() == record.CreateTime && !b.ChecksumOK() {
			b.SetMaxTimestamp(record.CreateTime, now+1)
		}
		rest = tail
	}
}

func FuzzQuorumState(f *testing.F) {
	for _, name := range goldenDirs() {
		if data, ok := goldenFiles(f, name)[quorumStateName]; ok {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := decodeQuorumState(data)
		if err != nil {
			return
		}
		out, err := q.encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeQuorumState(out); err != nil || !reflect.DeepEqual(q, again) {
			t.Fatalf("%v: %+v is read back as %+v", err, q, again)
		}
	})
}

func TestQuorumStateIsWrittenAsKafkaWritesIt(t *testing.T) {
	seen := map[int16]int{}
	for _, name := range goldenDirs() {
		data, ok := goldenFiles(t, name)[quorumStateName]
		if !ok {
			continue
		}
		q, err := decodeQuorumState(data)
		if err != nil {
			t.Fatal(err)
		}
		fsys := vfs.NewMem()
		if err := fsys.MkdirAll("/d", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := writeQuorumState(fsys, "/d", q); err != nil {
			t.Fatal(err)
		}
		got, err := vfs.ReadFile(fsys, "/d/"+quorumStateName)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %q, want %q (%v)", name, got, data, err)
		}
		seen[q.DataVersion]++
	}
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("versions seen: %v", seen)
	}
}
