package dump

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/record"
)

func TestSchemaTable(t *testing.T) {
	table, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, all := range table {
		count += len(all)
	}
	if count != strings.Count(schemaText, "\n") || count < 100 {
		t.Errorf("%d schemas in %d lines", count, strings.Count(schemaText, "\n"))
	}
	for _, bad := range []string{"metadata", "metadata x NAME 0 a:int8", "metadata 1 NAME x a:int8", "metadata 1 NAME 0 a", "metadata 1 NAME 0 a:int9",
		"metadata 1 NAME 0 a:[int8", "metadata 1 NAME 0 a:(b:int8", "metadata 1 NAME 0 flexible a@x:int8=0", "metadata 1 NAME 0 flexible a@0:int8", "metadata 1 NAME 0 a:int8)"} {
		if _, _, err := parseSchema(bad); err == nil {
			t.Errorf("%q is a schema", bad)
		}
	}
}

// TestDecode decodes a structure with everything in it.
func TestDecode(t *testing.T) {
	_, s, err := parseSchema("x 1 NAME 0-2 flexible a:boolean b@3:(c:int16)?=null d:string? e:[uuid] f:bytes g@0:int32=-1 h:uint16 i:float64 j@1:string?=null k:(l:int8)?")
	if err != nil {
		t.Fatal(err)
	}
	fixed := "\x01" + "\x00" + "\x02" + strings.Repeat("\x00", 15) + "\x01" + "\x03\xfe\xff" + "\xff\xfe" + "\x3f\xe0\x00\x00\x00\x00\x00\x00" + "\xff"
	want := `{"a":true,%s"d":null,"e":["AAAAAAAAAAAAAAAAAAAAAQ"],"f":"/v8=",%s"h":65534,"i":0.5,%s"k":null}`
	for _, c := range []struct{ tags, b, g, j string }{
		{"\x00", "", "", ""},
		{"\x01\x00\x04\xff\xff\xff\xff", "", "", ""}, // the default
		{"\x02\x00\x04\x00\x00\x00\x05\x01\x02\x02h", "", `"g":5,`, `"j":"h",`},
		{"\x01\x03\x04\x01\x00\x07\x00", `"b":{"c":7},`, "", ""},
		{"\x01\x03\x01\x00", "", "", ""}, // null is the default
		{"\x01\x63\x02zz", "", "", ""},   // a tag that nobody knows
	} {
		out, n, err := s.message(nil, []byte(fixed+c.tags))
		wanted := want
		for _, part := range []string{c.b, c.g, c.j} {
			wanted = strings.Replace(wanted, "%s", part, 1)
		}
		if err != nil || n != len(fixed)+len(c.tags) || string(out) != wanted {
			t.Errorf("%q: %s, %d of %d bytes, %v; want %s", c.tags, out, n, len(fixed)+len(c.tags), err, wanted)
		}
		for cut := range len(fixed) {
			if _, _, err := s.message(nil, []byte(fixed[:cut])); err == nil {
				t.Errorf("%d bytes are enough", cut)
			}
		}
	}
}

func TestStateRecords(t *testing.T) {
	for _, c := range []struct {
		decoder    Decoder
		key, value string
		want       string
	}{
		{Groups, "\x00\x02\x00\x01g", "", `key: {"type":"2","data":{"group":"g"}} payload: <DELETE>`},
		{Groups, "\x00\x63", "x", "key: Unknown record type 99 at offset 0, skipping."},
		{Groups, "\x00", "x", "key: Error at offset 0, skipping. the record has no key that says what it is"},
		{Groups, "\x00\x02\x00\x01g", "\x00\x63", "skipping. unknown version 99 of record type 2"},
		{Groups, "\x00\x02\x00\x01g", "\x00", "skipping. value: the bytes end too early"},
		{Groups, "\x00\x02\x00\x09g", "\x00\x00", "skipping. key: the bytes end too early"},
		{Transactions, "\x00\x00\x00\x01x", "\x00\x00" + strings.Repeat("\x00", 14) + "\x01\xff\xff\xff\xff" + strings.Repeat("\x00", 16),
			`{"version":"0","data":{"producerId":0,"producerEpoch":0,"transactionTimeoutMs":0,"transactionStatus":"Ongoing","transactionPartitions":null,`},
		{Transactions, "\x00\x00\x00\x01x", "\x00\x00" + strings.Repeat("\x00", 14) + "\x09\xff\xff\xff\xff" + strings.Repeat("\x00", 16), `"transactionStatus":9,`},
		{ShareState, "\x00\x01\x00\x01g" + strings.Repeat("\x00", 20), "", `"data":{"groupId":"g","topicId":"AAAAAAAAAAAAAAAAAAAAAA","partition":0}} payload: <DELETE>`},
		{Metadata, "", "\x01\x0c\x00\x02x\x00\x01\x00", `payload: {"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"x","featureLevel":1}}`},
		{Metadata, "", "\x02\x0c\x00\x02x\x00\x01\x00", "payload: Error at 0, skipping. frame version 2"},
		{Metadata, "", "\x01\x7f\x00", "payload: Error at 0, skipping. unknown metadata record type 127 in version 0"},
		{Metadata, "", "\x01", "payload: Error at 0, skipping. the bytes end too early"},
	} {
		r := record.Record{Key: []byte(c.key)}
		if c.value != "" {
			r.Value = []byte(c.value)
		}
		mem := vfs.NewMem()
		write(t, mem, "/d/x-0/00000000000000000000.log", batchOf(t, record.BuilderOptions{}, r))
		if out, _, _ := show(t, mem, "/d", Options{Decoder: c.decoder}); !strings.Contains(out, c.want) {
			t.Errorf("%s %q: %s, want %s", c.decoder, c.key, out, c.want)
		}
		if out, _, _ := show(t, mem, "/d", Options{Decoder: c.decoder, JSON: true}); !json.Valid([]byte(strings.Split(out, "\n")[1])) {
			t.Errorf("%s %q: no JSON: %s", c.decoder, c.key, out)
		}
	}
}

func TestConsumerProtocol(t *testing.T) {
	member := "\x00\x01m\x00\x01c\x00\x01h\x00\x00\x00\x05" // member, client, host, session time-out
	subscription := "\x00\x00\x00\x00\x00\x01\x00\x02t1\xff\xff\xff\xff"
	value := func(protocol string) string {
		return "\x00\x00\x00" + string(rune(len(protocol))) + protocol + "\x00\x00\x00\x01\xff\xff\xff\xff\x00\x00\x00\x01" + member +
			"\x00\x00\x00" + string(rune(len(subscription))) + subscription + "\x00\x00\x00\x01?"
	}
	for protocol, want := range map[string]string{
		"consumer": `"subscription":{"topics":["t1"],"userData":null},"assignment":"Pw=="`,
		"connect":  `"subscription":"AAAAAAABAAJ0Mf////8=","assignment":"Pw=="`,
	} {
		_, out, err := coordinatorRecord(&record.Record{Key: []byte("\x00\x02\x00\x01g"), Value: []byte(value(protocol))}, "group")
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s, %v", protocol, out, err)
		}
	}
}

func TestJavaTexts(t *testing.T) {
	for in, want := range map[string]string{
		"plain":            "plain",
		"\xff\xfe":         "\uFFFD\uFFFD",
		"\xe2\x82":         "\uFFFD",             // a cut-off sequence is one
		"\xe2\x82a":        "\uFFFDa",            //
		"\xf0\x9f\x98a":    "\uFFFDa",            //
		"\xe0\x80\x80":     "\uFFFD\uFFFD\uFFFD", // overlong
		"\xed\xa0\x80":     "\uFFFD",             // a surrogate is one
		"\xf4\x90\x80\x80": "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xc3":             "\uFFFD",
		"\U0001F600":       "\U0001F600",
	} {
		if got := javaString([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := string(appendQuoted(nil, "a\"\\\b\t\n\f\r\x01\x1fü")); got != `"a\"\\\b\t\n\f\r\u0001\u001Fü"` {
		t.Error(got)
	}
	for f, want := range map[float64]string{0: "0.0", 1048576: "1048576.0", 1e7: "1.0E7", 1.5e-4: "1.5E-4", 123456789: "1.23456789E8", -2: "-2.0",
		math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`} {
		if got := javaDouble(f); got != want {
			t.Errorf("%g: %s, want %s", f, got, want)
		}
	}
	if javaDouble(math.NaN()) != `"NaN"` {
		t.Error("NaN")
	}
}

// FuzzRecords: whatever stands in a record, there is a line of JSON about it.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x00\x02\x00\x01g"), []byte("\x00\x03"), 0)
	f.Add([]byte(nil), []byte("\x01\x0c\x00\x02x\x00\x01\x00"), 2)
	f.Add([]byte("\x00\x00\x00\x01x"), []byte("\x00\x01"), 1)
	f.Fuzz(func(t *testing.T, key, value []byte, which int) {
		decoders := [...]Decoder{Groups, Transactions, Metadata, ShareState, Plain}
		s := segment{Dumper: New(Options{Out: discard{}, JSON: true}), path: "f", decoder: decoders[uint(which)%uint(len(decoders))]}
		for _, control := range []bool{false, true} {
			b := batchOf(t, record.BuilderOptions{Control: control}, record.Record{Key: key, Value: value})
			if err := s.record(b, &record.Record{Key: key, Value: value}); err != nil {
				t.Fatal(err)
			}
			if !json.Valid(s.line.b) {
				t.Fatalf("no JSON: %s", s.line.b)
			}
		}
	})
}

// discard is a writer that keeps nothing.
type discard struct{}

// Write implements io.Writer.
func (discard) Write(b []byte) (int, error) { return len(b), nil }
