package integration

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Step is one step of a golden case.
type Step struct {
	Op         string            `json:"op"`
	Name       string            `json:"name"`
	Topic      string            `json:"topic"`
	Partition  int32             `json:"partition"`
	Partitions int32             `json:"partitions"`
	Config     map[string]string `json:"config"`
	From       int               `json:"from"`
	To         int               `json:"to"`
	Offset     int64             `json:"offset"`
	Ms         int               `json:"ms"`
}

// Case is a golden case: what was done to Kafka, with the input batches.
type Case struct {
	Name   string            `json:"name"`
	Broker map[string]string `json:"broker"`
	Steps  []Step            `json:"steps"`

	dir   string
	input [][]byte
}

func loadCase(t *testing.T, name string) *Case {
	t.Helper()
	c := &Case{dir: filepath.Join("testdata", "golden", name)}
	js, err := os.ReadFile(filepath.Join(c.dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(js, c); err != nil {
		t.Fatalf("%s/case.json: %v", c.dir, err)
	}
	packed, err := os.ReadFile(filepath.Join(c.dir, "input.bin.zst"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatalf("%s/input.bin.zst: %v", c.dir, err)
	}
	for len(all) > 0 {
		n := binary.BigEndian.Uint32(all)
		c.input = append(c.input, all[4:4+n])
		all = all[4+n:]
	}
	return c
}

// nextCapture is the name of the first capture at or after step i, "" when there is none before the next start.
func (c *Case) nextCapture(i int) string {
	for _, s := range c.Steps[i:] {
		switch s.Op {
		case "capture":
			return s.Name
		case "start", "produce", "create", "deleteRecords", "alter", "deleteTopic":
			return ""
		}
	}
	return ""
}

// endsStopped tells whether the broker was stopped cleanly before the last capture.
func (c *Case) endsStopped() bool {
	for _, s := range slices.Backward(c.Steps) {
		switch s.Op {
		case "stop":
			return true
		case "start", "kill":
			return false
		}
	}
	return false
}

// archive is the path of one of Kafka's captures.
func (c *Case) archive(name string) string { return filepath.Join(c.dir, name+".tar.zst") }
