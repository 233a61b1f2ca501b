package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minibroker/client"
	"minibroker/record"
)

// Limits of one batch of produce, and of a line of its input.
const (
	batchRecords = 1000
	batchBytes   = 512 << 10
	maxLine      = 64 << 20
)

// producing is the command line of produce.
type producing struct {
	remote
	topic     string
	values    []string // instead of standard input
	partition int32
	key       string
	keyed     bool // --key is given
	separator string
	headers   []string
	codec     string
	quiet     bool
}

func newProduce(stdin io.Reader, stdout io.Writer) *cobra.Command {
	p := producing{partition: -1}
	cmd := &cobra.Command{
		Use:   "produce TOPIC [VALUE...]",
		Short: "Write records: the values given, or a record for each line of standard input",
		Long: `produce writes records and waits until they are stored. Values come from the command line, or a line each from standard input. Records
with a key go to the partition that Kafka's producers choose for it, others to one partition after another, a batch each.`,
		Example: `  minibroker produce words hello world
  minibroker produce orders --key-separator : < orders.txt
  minibroker produce orders --key 42 --header trace=abc --header source=shell '{"total":7}'
  seq 1000000 | minibroker produce numbers --compression zstd --quiet`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.topic, p.values, p.keyed = args[0], args[1:], cmd.Flags().Changed("key")
			return p.run(cmd.Context(), stdin, stdout)
		},
	}
	p.add(cmd)
	set := cmd.Flags()
	set.Int32VarP(&p.partition, "partition", "p", p.partition, "write to this partition; -1 chooses")
	set.StringVarP(&p.key, "key", "k", "", "the key of all records")
	set.StringVarP(&p.separator, "key-separator", "K", "", "what stands between key and value in a line, such as : or a tab")
	set.StringArrayVarP(&p.headers, "header", "H", nil, "add a header `key=value` to all records; may be repeated")
	set.StringVarP(&p.codec, "compression", "z", "none", "compress with none, gzip, snappy, lz4 or zstd")
	set.BoolVarP(&p.quiet, "quiet", "q", false, "do not print how many records were written")
	return cmd
}

// codecOf finds a codec by its name.
func codecOf(name string) (record.Codec, bool) {
	for c := record.None; c.Known(); c++ {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// run writes everything.
func (p *producing) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	codec, ok := codecOf(p.codec)
	if !ok {
		return usageError{fmt.Errorf("--compression %s: want none, gzip, snappy, lz4 or zstd", p.codec)}
	}
	headers, err := headersOf(p.headers)
	if err != nil {
		return err
	}
	c := client.New(p.broker)
	defer c.Close()
	var topic client.Topic
	if err := p.within(ctx, func(ctx context.Context) (err error) {
		topic, err = c.Topic(ctx, p.topic, true)
		return err
	}); err != nil {
		return err
	}
	if int(p.partition) >= len(topic.Leaders) {
		return fmt.Errorf("topic %s has %d partitions, there is no partition %d", p.topic, len(topic.Leaders), p.partition)
	}
	w := writer{producing: p, client: c, topic: topic, codec: codec, headers: headers, waiting: map[int32][]record.Record{},
		turn: rand.Int32N(int32(len(topic.Leaders)))}
	if err := w.writeAll(ctx, stdin); err != nil {
		return err
	}
	if !p.quiet {
		fmt.Fprintf(stdout, "%d records written to %s\n", w.written, p.topic)
	}
	return nil
}

// within bounds one exchange with the broker.
func (r *remote) within(ctx context.Context, work func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err := work(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %v: %w", r.broker, r.timeout, err)
	}
	return err
}

func headersOf(pairs []string) ([]record.RecordHeader, error) {
	var headers []record.RecordHeader
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("--header %s: want key=value", pair)}
		}
		headers = append(headers, record.RecordHeader{Key: []byte(key), Value: []byte(value)})
	}
	return headers, nil
}

// writer gathers records into a batch for each partition.
type writer struct {
	*producing
	client  *client.Client
	topic   client.Topic
	codec   record.Codec
	headers []record.RecordHeader

	waiting map[int32][]record.Record
	count   int
	bytes   int
	turn    int32 // the partition of records without a key
	written int
}

// writeAll writes the values, or the lines of input as they come: a batch is sent when it is full or nothing more is there yet.
func (w *writer) writeAll(ctx context.Context, stdin io.Reader) error {
	if len(w.values) > 0 {
		for _, v := range w.values {
			if err := w.take(ctx, v); err != nil {
				return err
			}
		}
		return w.flush(ctx)
	}
	in := bufio.NewReaderSize(stdin, 64<<10)
	for {
		line, err := readLine(in)
		if line == "" && errors.Is(err, io.EOF) {
			return w.flush(ctx)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := w.take(ctx, strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// readLine reads up to a line end, which it keeps.
func readLine(in *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		line.Write(part)
		if line.Len() > maxLine {
			return "", fmt.Errorf("a line of input has more than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line.String(), err
		}
	}
}

// take makes a record of a value or line.
func (w *writer) take(ctx context.Context, text string) error {
	r := record.Record{Timestamp: time.Now().UnixMilli(), Value: []byte(text), Headers: w.headers}
	if w.keyed {
		r.Key = []byte(w.key)
	}
	if w.separator != "" {
		key, value, ok := strings.Cut(text, w.separator)
		if !ok {
			return fmt.Errorf("no key separator %q in %.80q", w.separator, text)
		}
		r.Key, r.Value = []byte(key), []byte(value)
	}
	partition := w.partition
	switch {
	case partition >= 0:
	case r.Key != nil:
		partition = client.PartitionOf(r.Key, len(w.topic.Leaders))
	default:
		partition = w.turn
	}
	w.waiting[partition] = append(w.waiting[partition], r)
	w.count++
	w.bytes += len(r.Key) + len(r.Value)
	if w.count >= batchRecords || w.bytes >= batchBytes {
		return w.flush(ctx)
	}
	return nil
}

// flush writes what waits.
func (w *writer) flush(ctx context.Context) error {
	for partition, records := range w.waiting {
		err := w.within(ctx, func(ctx context.Context) error {
			_, err := w.client.Produce(ctx, w.topic, partition, w.codec, records)
			return err
		})
		if err != nil {
			return err
		}
		w.written += len(records)
	}
	clear(w.waiting)
	w.count, w.bytes = 0, 0
	w.turn = (w.turn + 1) % int32(len(w.topic.Leaders))
	return nil
}
