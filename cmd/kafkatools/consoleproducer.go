package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxLine bounds one line of input: what message.max.bytes lets through by default fits many times.
const maxLine = 64 << 20

func producerGrammar() grammar {
	return grammar{
		valued: []string{"bootstrap-server", "command-config", "producer.config", "topic", "property", "reader-property", "reader-config", "producer-property", "command-property",
			"compression-codec", "batch-size", "request-required-acks", "request-timeout-ms", "timeout", "message-send-max-retries", "retry-backoff-ms", "max-block-ms",
			"max-memory-bytes", "max-partition-memory-bytes", "metadata-expiry-ms", "socket-buffer-size", "line-reader"},
		plain: []string{"sync", "help", "version"},
	}
}

// lineFormat says how a line of input becomes a record.
type lineFormat struct {
	key, headers                    bool
	separator, headersSep, pairsSep string
	nullMarker                      string
	ignoreError                     bool
}

func readLineFormat(values []string) lineFormat {
	f := lineFormat{separator: "\t", headersSep: "\t", pairsSep: ","}
	for _, value := range values {
		key, v, _ := strings.Cut(value, "=")
		switch key {
		case "parse.key":
			f.key = v == "true"
		case "parse.headers":
			f.headers = v == "true"
		case "key.separator":
			f.separator = v
		case "headers.delimiter":
			f.headersSep = v
		case "headers.separator":
			f.pairsSep = v
		case "null.marker":
			f.nullMarker = v
		case "ignore.error":
			f.ignoreError = v == "true"
		}
	}
	return f
}

// record reads a line; number counts from 1 and goes into complaints.
func (f lineFormat) record(line []byte, number int) (*kgo.Record, error) {
	r := &kgo.Record{}
	if f.headers {
		head, rest, found := bytes.Cut(line, []byte(f.headersSep))
		if !found && !f.ignoreError {
			return nil, fmt.Errorf("No header delimiter found on line number %d: '%s'", number, line)
		}
		if found {
			line = rest
			for _, pair := range strings.Split(string(head), f.pairsSep) {
				key, value, ok := strings.Cut(pair, ":")
				if !ok && pair != "" {
					return nil, fmt.Errorf("No header key separator found in pair '%s' on line number %d", pair, number)
				}
				if ok {
					r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
				}
			}
		}
	}
	if f.key {
		key, rest, found := bytes.Cut(line, []byte(f.separator))
		if !found && !f.ignoreError {
			return nil, fmt.Errorf("No key separator found on line number %d: '%s'", number, line)
		}
		if found {
			r.Key, line = f.orNull(key), rest
		}
	}
	r.Value = f.orNull(line)
	return r, nil
}

func (f lineFormat) orNull(b []byte) []byte {
	if f.nullMarker != "" && string(b) == f.nullMarker {
		return nil
	}
	return append([]byte{}, b...)
}

// runConsoleProducer is kafka-console-producer.
func runConsoleProducer(ctx context.Context, args []string, c console) int {
	g := producerGrammar()
	a, err := g.parse(args)
	if err == nil && !a.has("topic") {
		err = errors.New("Missing required option(s) [topic]")
	}
	var options []kgo.Opt
	if err == nil {
		options, err = producerOptions(a)
	}
	if err != nil {
		return c.wrong(g, err)
	}
	client, err := connect(a, options...)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	if err := produceLines(ctx, client, readLineFormat(append(a.values["property"], append(a.values["reader-property"], a.values["reader-config"]...)...)), a, c); err != nil {
		fmt.Fprintln(c.err, err)
		return 1
	}
	return 0
}

func producerOptions(a arguments) ([]kgo.Opt, error) {
	options := []kgo.Opt{kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic(a.one("topic")), kgo.ProducerBatchMaxBytes(1 << 20)}
	acks, codec := a.one("request-required-acks"), a.one("compression-codec")
	for _, value := range append(a.values["producer-property"], a.values["command-property"]...) {
		key, v, _ := strings.Cut(value, "=")
		switch key {
		case "acks":
			acks = v
		case "compression.type":
			codec = v
		}
	}
	switch acks {
	case "", "-1", "all":
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, fmt.Errorf("Invalid value %s for configuration acks: String must be one of: all, -1, 0, 1", acks)
	}
	codecs := map[string]kgo.CompressionCodec{"": kgo.NoCompression(), "none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	if a.has("compression-codec") && codec == "" {
		codec = "gzip"
	}
	chosen, found := codecs[codec]
	if !found {
		return nil, fmt.Errorf("Invalid value %s for configuration compression.type: one of none, gzip, snappy, lz4, zstd", codec)
	}
	return append(options, kgo.ProducerBatchCompression(chosen)), nil
}

func produceLines(ctx context.Context, client *kgo.Client, format lineFormat, a arguments, c console) error {
	lines := bufio.NewScanner(c.in)
	lines.Buffer(nil, maxLine)
	failed := make(chan error, 1)
	for number := 1; lines.Scan(); number++ {
		r, err := format.record(lines.Bytes(), number)
		if err != nil {
			return errors.Join(err, client.Flush(ctx))
		}
		if a.has("sync") {
			if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
				return err
			}
			continue
		}
		client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default: // the first is told
				}
			}
		})
	}
	if err := errors.Join(lines.Err(), client.Flush(ctx)); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}
