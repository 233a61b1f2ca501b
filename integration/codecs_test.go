package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"minibroker/record"
)

// TestCodecsAcrossClients produces with every codec of librdkafka (kcat), franz-go and Java's client and consumes all of it. What is stored has the codec that was sent, or the topic's own.
func TestCodecsAcrossClients(t *testing.T) {
	clients := []client{goClient{}, javaClient{}, kcatClient{}}
	for _, c := range clients {
		c.need(t)
	}
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	createTopic(t, addr, "as-sent", 1, nil)
	createTopic(t, addr, "zstd-only", 1, map[string]string{"compression.type": "zstd"})
	createTopic(t, addr, "plain-only", 1, map[string]string{"compression.type": "uncompressed"})
	topics := []string{"as-sent", "zstd-only", "plain-only"}
	long := strings.Repeat("the same words again and again ", 8)
	var sent []string
	var codecs []record.Codec
	note := func(c record.Codec, who string) []string {
		line := fmt.Sprintf("%s %d %s", who, c, long)
		sent, codecs = append(sent, line), append(codecs, c)
		return []string{line}
	}
	for c, name := range map[record.Codec]string{record.None: "none", record.Gzip: "gzip", record.Snappy: "snappy", record.Lz4: "lz4", record.Zstd: "zstd"} {
		for _, topic := range topics {
			line := fmt.Sprintf("kcat %d %s", c, long)
			runCommand(t, line+"\n", "kcat", "-b", addr, "-t", topic, "-p", "0", "-P", "-z", name)
		}
		note(c, "kcat")
	}
	for c, kind := range map[record.Codec]kgo.CompressionCodec{record.Gzip: kgo.GzipCompression(), record.Snappy: kgo.SnappyCompression(),
		record.Lz4: kgo.Lz4Compression(), record.Zstd: kgo.ZstdCompression()} {
		lines := note(c, "kgo")
		for _, topic := range topics {
			cl := newClient(t, addr, kgo.ProducerBatchCompression(kind), kgo.DefaultProduceTopic(topic))
			if err := cl.ProduceSync(t.Context(), kgo.StringRecord(lines[0])).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	consume := func(topic string, with ...client) {
		t.Helper()
		for _, c := range with {
			if got := c.consume(t, addr, topic, len(sent)); !slices.Equal(got, sent) {
				t.Errorf("%s read %q from %s, sent were %q", c.name(), got, topic, sent)
			}
		}
	}
	consume("zstd-only", goClient{}, kcatClient{})
	consume("plain-only", goClient{}, kcatClient{})
	// Java frames snappy in its own way.
	lines := note(record.Snappy, "java")
	java(t, lines[0]+"\n", "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", addr, "--topic", "as-sent", "--compression-codec", "snappy")
	consume("as-sent", clients...)
	p.Stop(t)
	checkCodecs(t, data, "as-sent", func(n int) record.Codec { return codecs[n] })
	checkCodecs(t, data, "zstd-only", func(int) record.Codec { return record.Zstd })
	checkCodecs(t, data, "plain-only", func(int) record.Codec { return record.None })
}

// checkCodecs compares the codecs of the batches of a stopped broker.
func checkCodecs(t *testing.T, data, topic string, want func(n int) record.Codec) {
	t.Helper()
	rest, err := os.ReadFile(filepath.Join(data, topic+"-0", "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; len(rest) > 0; n++ {
		b, tail, err := record.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		if b.Codec() != want(n) {
			t.Errorf("%s: batch %d has codec %d, want %d", topic, n, b.Codec(), want(n))
		}
		if plain := bytes.Contains(b, []byte("again and again")); b.Codec() == record.None && !plain {
			t.Errorf("%s: batch %d is not plain", topic, n)
		}
		rest = tail
	}
}
