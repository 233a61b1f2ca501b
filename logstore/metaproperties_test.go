package logstore

import (
	"bytes"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"minibroker/internal/vfs"
)

func TestMetaPropertiesGolden(t *testing.T) {
	want := golden(t, "ex1/meta.properties")
	fsys, _ := memFile(t, metaPropertiesName, want)
	m, err := ReadMetaProperties(fsys, "/d")
	if err != nil || m.NodeID != 1 || m.Version != 1 || m.ClusterID != "5L6g3nShT-eMCtK--X86sw" || m.DirectoryID.String() != "49LjvB0e3i9D3oOu5Pu-DA" {
		t.Fatalf("%+v, %v", m, err)
	}
	at := time.Date(2026, 11, 30, 4, 48, 53, 0, time.UTC)
	if got := formatMetaProperties(m, at); !bytes.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := string(formatMetaProperties(m, time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("X", 3600)))); !strings.Contains(got, "#Sun Mar 01 00:00:00 UTC 2026\n") {
		t.Errorf("date in %q", got)
	}
	must(t, WriteMetaProperties(fsys, "/d", m))
	if again, err := ReadMetaProperties(fsys, "/d"); err != nil || again != m {
		t.Errorf("read back %+v, %v", again, err)
	}
	if _, err := ReadMetaProperties(vfs.NewMem(), "/"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestMetaPropertiesForms(t *testing.T) {
	for text, want := range map[string]MetaProperties{
		"version=1\nnode.id=7\ncluster.id=abc\n":                                        {NodeID: 7, ClusterID: "abc", Version: 1},
		"version : 1\r\nnode.id\t7\r\ncluster.id   =  a b ":                             {NodeID: 7, ClusterID: "a b ", Version: 1},
		"! old\nversion=1\nnode.id=7\ncluster.id=a\\\n   bc\nother=x":                   {NodeID: 7, ClusterID: "abc", Version: 1},
		"version=1\nnode.id=6\nnode.id=7\ncluster.id=\\u0061\\:\\=":                     {NodeID: 7, ClusterID: "a:=", Version: 1},
		"version=0\nbroker.id=7\ncluster.id=abc":                                        {NodeID: 7, ClusterID: "abc", Version: 0},
		"version=1\nnode.id=7\ncluster.id=abc\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n\n": {NodeID: 7, ClusterID: "abc", Version: 1, DirectoryID: UUID{15: 1}},
	} {
		if got, err := parseMetaProperties("f", []byte(text)); err != nil || got != want {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestMetaPropertiesDamages(t *testing.T) {
	for text, want := range map[string]struct {
		kind error
		line int
	}{
		"":                                    {ErrMalformed, 0},
		"#\n":                                 {ErrMalformed, 0},
		"node.id=1\ncluster.id=a":             {ErrMalformed, 0},
		"version=1\ncluster.id=a":             {ErrMalformed, 0},
		"version=1\nnode.id=1":                {ErrMalformed, 0},
		"version=2\nnode.id=1\ncluster.id=a":  {ErrVersion, 0},
		"version=x\nnode.id=1\ncluster.id=a":  {ErrMalformed, 1},
		"version=1\nnode.id=1x\ncluster.id=a": {ErrMalformed, 2},
		"version=1\nnode.id=2147483648":       {ErrMalformed, 2},
		"version=1\n\ndirectory.id=short":     {ErrMalformed, 3},
		"version=1\ncluster.id=\\u00":         {ErrMalformed, 2},
	} {
		_, err := parseMetaProperties("f", []byte(text))
		var corrupt *CorruptError
		if !errors.Is(err, want.kind) || !errors.As(err, &corrupt) || corrupt.Line != want.line {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPartitionMetadataGolden(t *testing.T) {
	want := golden(t, "ex1/partition.metadata")
	fsys, path := memFile(t, partitionMetadataName, want)
	m, err := readPartitionMetadata(fsys, "/d")
	must(t, err, writePartitionMetadata(fsys, "/d", m))
	if got := readAll(t, fsys, path); !bytes.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if again, err := readPartitionMetadata(fsys, "/d"); err != nil || again != m {
		t.Errorf("read back %+v, %v", again, err)
	}
}

func TestPartitionMetadataDamages(t *testing.T) {
	const id = "49LjvB0e3i9D3oOu5Pu-DA"
	for text, want := range map[string]error{
		"version: 0":                                       ErrMalformed,
		"version: 1\ntopic_id: " + id:                      ErrVersion,
		"version: x\ntopic_id: " + id:                      ErrVersion,
		"topic_id: " + id:                                  ErrMalformed,
		"version: 0\ntopic_id:" + id:                       ErrMalformed,
		"version: 0\ntopic_id: " + id + "A":                ErrMalformed,
		"version: 0\ntopic_id: " + strings.Repeat("A", 22): ErrMalformed,
	} {
		fsys, _ := memFile(t, partitionMetadataName, []byte(text))
		var corrupt *CorruptError
		if m, err := readPartitionMetadata(fsys, "/d"); !errors.Is(err, want) || !errors.As(err, &corrupt) {
			t.Errorf("%q: got %+v, %v", text, m, err)
		}
	}
	empty, _ := memFile(t, partitionMetadataName, nil)
	if m, err := readPartitionMetadata(empty, "/d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty file: got %+v, %v; want that there is none", m, err)
	}
	if _, err := parsePartitionMetadata("f", []byte("version: 0\ntopic_id: "+id+"\n")); err != nil {
		t.Errorf("with a newline at the end: %v", err)
	}
}

func TestCleanShutdown(t *testing.T) {
	want := golden(t, "ex1/kafka_cleanshutdown")
	fsys, path := memFile(t, cleanShutdownName, want)
	c, found, err := readCleanShutdown(fsys, "/d")
	if err != nil || !found || c != (CleanShutdown{Version: 0, BrokerEpoch: 12}) {
		t.Fatalf("%+v, %v, %v", c, found, err)
	}
	must(t, writeCleanShutdown(fsys, "/d", c))
	if got := readAll(t, fsys, path); !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for text, epoch := range map[string]int64{
		"": -1, "x": -1, "{": -1, `{"version":1,"brokerEpoch":5}`: -1, `{"version":0}`: -1, `{"brokerEpoch":"x"}`: -1,
		` {"brokerEpoch": 9223372036854775807, "version": 0, "more": []}`: 1<<63 - 1,
	} {
		must(t, vfs.WriteFileAtomic(fsys, path, []byte(text), 0o644))
		if c, found, err := readCleanShutdown(fsys, "/d"); err != nil || !found || c.BrokerEpoch != epoch {
			t.Errorf("%q: %+v, %v, %v", text, c, found, err)
		}
	}
	must(t, removeCleanShutdown(fsys, "/d"), removeCleanShutdown(fsys, "/d"))
	if c, found, err := readCleanShutdown(fsys, "/d"); err != nil || found || c.BrokerEpoch != -1 {
		t.Errorf("removed: %+v, %v, %v", c, found, err)
	}
}

func FuzzMetaProperties(f *testing.F) {
	f.Add(golden(f, "ex1/meta.properties"))
	f.Add([]byte("version : 1\r\nnode.id\t7\r\ncluster.id=a\\\n b\\u0041\\"))
	f.Add([]byte("version 0\ncluster.id 0\xcf"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMetaProperties("f", data)
		if err != nil {
			return
		}
		text := formatMetaProperties(m, time.UnixMilli(0))
		if again, err := parseMetaProperties("f", text); err != nil && m.Version == 1 || err == nil && !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v became %+v, %v by %q", m, again, err, text)
		}
	})
}
