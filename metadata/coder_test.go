package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"minibroker/logstore"
)

// fromHex reads bytes from hexadecimal digits in groups.
func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestUnknownTagsAreKept: a newer minor form of a record is written as it was
// read, its unknown tags between, before and behind the known ones.
func TestUnknownTagsAreKept(t *testing.T) {
	const id = "00000000000000000000000000000009"
	for what, value := range map[string]string{
		"around known tags": "01 05 02 00000000 " + id + " 04 01 04 ffffffff 06 01 01 09 02 abcd 28 00",
		"struct of none":    "01 02 00 02 74 " + id + " 02 00 01 ff 05 00",
		"element of array":  "01 0e 00 02 05 75736572 00 01 03 01 aa 02 6b 0000000000000000 00 00",
	} {
		in := fromHex(t, value)
		r, version, err := DecodeRecord(in)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if out := AppendRecord(nil, r, version); !bytes.Equal(in, out) {
			t.Errorf("%s: % x, want % x", what, out, in)
		}
	}
}

func TestBrokenRecordsAreMalformed(t *testing.T) {
	const id = "00000000000000000000000000000009"
	for what, value := range map[string]string{
		"empty":             "",
		"cut frame":         "01 80",
		"null name":         "01 02 00 00 " + id + " 00",
		"long name":         "01 02 00 ffffff7f 74",
		"too many elements": "01 03 00 00000000 " + id + " ffffff7f 00000001",
		"varint of 35 bits": "01 02 00 ffffffff7f",
		"tags out of order": "01 02 00 02 74 " + id + " 02 05 00 01 00",
		"tag twice":         "01 02 00 02 74 " + id + " 02 05 00 05 00",
		"tag too long":      "01 19 00 01 00 03 02 41 42",
		"tag cut":           "01 19 00 01 00 05 04 41",
		"tag of rest":       "01 05 02 00000000 " + id + " 01 01 05 ffffffff 00",
		"bytes behind":      "01 14 00 00 00",
	} {
		if r, _, err := DecodeRecord(fromHex(t, value)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, %+v", what, err, r)
		}
	}
	if _, _, err := DecodeRecord(fromHex(t, "02 02 00 02 74")); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}

// TestOlderVersionsLeaveOutNewerFields writes records that hold more than the
// version does.
func TestOlderVersionsLeaveOutNewerFields(t *testing.T) {
	full := &PartitionRecord{
		PartitionID: 1, Replicas: []int32{1}, ISR: []int32{1}, RemovingReplicas: []int32{}, AddingReplicas: []int32{}, Leader: 1,
		Directories: []logstore.UUID{{1}}, EligibleLeaderReplicas: []int32{1}, LastKnownELR: []int32{},
	}
	lengths := []int{}
	for version := range int16(3) {
		value := AppendRecord(nil, full, version)
		r, _, err := DecodeRecord(value)
		if err != nil {
			t.Fatal(err)
		}
		p := r.(*PartitionRecord)
		if (p.Directories != nil) != (version >= 1) || (p.EligibleLeaderReplicas != nil) != (version >= 2) || (p.LastKnownELR != nil) != (version >= 2) {
			t.Errorf("version %d: %+v", version, p)
		}
		lengths = append(lengths, len(value))
	}
	if lengths[0] >= lengths[1] || lengths[1] >= lengths[2] {
		t.Errorf("lengths %v", lengths)
	}
}
