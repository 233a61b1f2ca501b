package logstore

import (
	"errors"
	"strings"
	"testing"
)

func TestParseDirName(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		name, topic string
		partition   int32
		suffix      string
	}{
		{"t-0", "t", 0, ""},
		{"a-b-12", "a-b", 12, ""},
		{"a.b-3", "a.b", 3, ""},
		{"t--1", "t-", 1, ""},
		{"t-0." + id + "-delete", "t", 0, "-delete"},
		{"a.b-7." + id + "-future", "a.b", 7, "-future"},
		{"t-2147483647." + id + "-stray", "t", 2147483647, "-stray"},
	} {
		got, err := parseDirName(c.name)
		want := dirName{tp: TopicPartition{c.topic, c.partition}, suffix: c.suffix}
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, want)
		}
	}
	for _, name := range []string{
		"", "t", "t-", "-0", "t-x", "t-0x", "t-2147483648", "foreign", "x-y",
		"t-0.0123-delete", "t-0." + id[1:] + "-delete", "t-0." + strings.ToUpper(id) + "-stray", "t." + id + "-delete",
	} {
		if got, err := parseDirName(name); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: got %+v, %v", name, got, err)
		}
	}
}

func TestSetAsideDirName(t *testing.T) {
	long := TopicPartition{strings.Repeat("x", 249), 123}
	for _, suffix := range []string{deleteDirSuffix, strayDirSuffix, futureDirSuffix} {
		name := setAsideDirName(TopicPartition{"t", 4}, suffix)
		got, err := parseDirName(name)
		if err != nil || got.suffix != suffix || got.tp != (TopicPartition{"t", 4}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if name == setAsideDirName(TopicPartition{"t", 4}, suffix) {
			t.Errorf("%s came twice", name)
		}
		cut := setAsideDirName(long, suffix)
		got, err = parseDirName(cut)
		if err != nil || got.tp.Partition != 123 || !strings.HasPrefix(long.Topic, got.tp.Topic) {
			t.Errorf("%s: got %+v, %v", cut, got, err)
		}
		if want := 255; suffix != futureDirSuffix && len(cut) != want {
			t.Errorf("%s has %d bytes, want %d", suffix, len(cut), want)
		}
	}
}

func TestSegmentFileName(t *testing.T) {
	if got := segmentFileName(11490, indexSuffix); got != "00000000000000011490.index" {
		t.Error(got)
	}
	for name, want := range map[string]struct {
		base   int64
		suffix string
		ok     bool
	}{
		"00000000000000011490.log":                 {11490, ".log", true},
		"00000000000000000000.snapshot.deleted":    {0, ".snapshot.deleted", true},
		"9223372036854775807.timeindex.swap":       {9223372036854775807, ".timeindex.swap", true},
		"9223372036854775808.log":                  {},
		"-1.log":                                   {},
		"+1.log":                                   {},
		".log":                                     {},
		"leader-epoch-checkpoint":                  {},
		"partition.metadata":                       {},
		"00000000000000000000":                     {},
		"00000000000000000001.log.cleaned.deleted": {1, ".log.cleaned.deleted", true},
	} {
		base, suffix, ok := parseSegmentFileName(name)
		if base != want.base || suffix != want.suffix || ok != want.ok {
			t.Errorf("%s: got %d, %q, %v", name, base, suffix, ok)
		}
	}
}

func TestUUID(t *testing.T) {
	for range 1000 {
		id := NewUUID()
		text := id.String()
		if len(text) != 22 || text[0] == '-' {
			t.Fatalf("%q", text)
		}
		if back, err := ParseUUID(text); err != nil || back != id {
			t.Fatalf("%q: got %v, %v", text, back, err)
		}
	}
	for _, bad := range []string{"", "x", strings.Repeat("A", 21), strings.Repeat("A", 23), strings.Repeat("A", 21) + "=", strings.Repeat("A", 21) + "/", strings.Repeat("A", 9999)} {
		if id, err := ParseUUID(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.30q: got %v, %v", bad, id, err)
		}
	}
	if id, err := ParseUUID("AAAAAAAAAAAAAAAAAAAAAA"); err != nil || !id.IsZero() {
		t.Errorf("zero id: %v, %v", id, err)
	}
}
