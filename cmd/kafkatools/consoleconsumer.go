package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func consumerGrammar() grammar {
	return grammar{
		valued: []string{"bootstrap-server", "command-config", "consumer.config", "topic", "include", "partition", "offset", "max-messages", "timeout-ms", "group", "isolation-level",
			"property", "formatter-property", "formatter-config", "formatter", "consumer-property", "command-property", "key-deserializer", "value-deserializer"},
		plain: []string{"from-beginning", "skip-message-on-error", "enable-systest-events", "help", "version"},
	}
}

// recordFormat says how a record is printed; the order of its parts is that of Kafka's DefaultMessageFormatter.
type recordFormat struct {
	timestamp, partition, offset, headers, key, noValue bool
	separator, line, headersSep, null                   string
}

func readRecordFormat(values []string) recordFormat {
	f := recordFormat{separator: "\t", line: "\n", headersSep: ",", null: "null"}
	for _, value := range values {
		key, v, _ := strings.Cut(value, "=")
		switch key {
		case "print.timestamp":
			f.timestamp = v == "true"
		case "print.partition":
			f.partition = v == "true"
		case "print.offset":
			f.offset = v == "true"
		case "print.headers":
			f.headers = v == "true"
		case "print.key":
			f.key = v == "true"
		case "print.value":
			f.noValue = v == "false"
		case "key.separator":
			f.separator = v
		case "line.separator":
			f.line = v
		case "headers.separator":
			f.headersSep = v
		case "null.literal":
			f.null = v
		}
	}
	return f
}

func (f recordFormat) print(out *bufio.Writer, r *kgo.Record) {
	var parts []string
	if f.timestamp {
		kind := "CreateTime"
		if r.Attrs.TimestampType() == 1 {
			kind = "LogAppendTime"
		}
		parts = append(parts, kind+":"+strconv.FormatInt(r.Timestamp.UnixMilli(), 10))
	}
	if f.partition {
		parts = append(parts, "Partition:"+strconv.Itoa(int(r.Partition)))
	}
	if f.offset {
		parts = append(parts, "Offset:"+strconv.FormatInt(r.Offset, 10))
	}
	if f.headers {
		words := make([]string, len(r.Headers))
		for i, h := range r.Headers {
			words[i] = h.Key + ":" + f.text(h.Value)
		}
		if len(words) == 0 {
			words = []string{"NO_HEADERS"}
		}
		parts = append(parts, strings.Join(words, f.headersSep))
	}
	if f.key {
		parts = append(parts, f.text(r.Key))
	}
	if !f.noValue {
		parts = append(parts, f.text(r.Value))
	}
	out.WriteString(strings.Join(parts, f.separator)) // a failed write is told by Flush
	out.WriteString(f.line)
}

func (f recordFormat) text(b []byte) string {
	if b == nil {
		return f.null
	}
	return string(b)
}

// runConsoleConsumer is kafka-console-consumer.
func runConsoleConsumer(ctx context.Context, args []string, c console) int {
	g := consumerGrammar()
	a, err := g.parse(args)
	var options []kgo.Opt
	if err == nil {
		options, err = consumerOptions(a)
	}
	if err != nil {
		return c.wrong(g, err)
	}
	limit, err := a.number("max-messages", -1)
	if err != nil {
		return c.wrong(g, err)
	}
	quiet, err := a.number("timeout-ms", -1)
	if err != nil {
		return c.wrong(g, err)
	}
	client, err := connect(a, options...)
	if err != nil {
		return c.wrong(g, err)
	}
	format := readRecordFormat(append(a.values["property"], append(a.values["formatter-property"], a.values["formatter-config"]...)...))
	printed, err := printRecords(ctx, client, format, limit, time.Duration(quiet)*time.Millisecond, c)
	if a.has("group") {
		if commitErr := client.CommitUncommittedOffsets(context.WithoutCancel(ctx)); err == nil {
			err = commitErr
		}
	}
	client.Close()
	fmt.Fprintf(c.err, "Processed a total of %d messages\n", printed)
	if err != nil {
		fmt.Fprintln(c.err, err)
		return 1
	}
	return 0
}

func consumerOptions(a arguments) ([]kgo.Opt, error) {
	if a.has("topic") == a.has("include") {
		return nil, errors.New("Exactly one of --include/--topic is required. ")
	}
	start := kgo.NewOffset().AtEnd()
	if a.has("from-beginning") || a.one("offset") == "earliest" {
		start = kgo.NewOffset().AtStart()
	} else if text := a.one("offset"); text != "" && text != "latest" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("The provided offset value '%s' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long.", text)
		}
		start = kgo.NewOffset().At(n)
	}
	if a.has("offset") && !a.has("partition") {
		return nil, errors.New("The partition is required when offset is specified.")
	}
	options := []kgo.Opt{kgo.ConsumeResetOffset(start), kgo.FetchMaxWait(500 * time.Millisecond)}
	if a.one("isolation-level") == "read_committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if a.has("partition") {
		n, err := a.number("partition", 0)
		if err != nil {
			return nil, err
		}
		if a.has("group") {
			return nil, errors.New("Options group and partition cannot be specified together.")
		}
		return append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{a.one("topic"): {int32(n): start}})), nil
	}
	topics := []string{a.one("topic")}
	if a.has("include") {
		topics, options = []string{a.one("include")}, append(options, kgo.ConsumeRegex())
	}
	options = append(options, kgo.ConsumeTopics(topics...))
	group := a.one("group")
	if group == "" { // as Kafka's: a group of its own that leaves no offsets behind
		group = "console-consumer-" + strconv.Itoa(rand.IntN(100000))
		options = append(options, kgo.DisableAutoCommit())
	}
	return append(options, kgo.ConsumerGroup(group), kgo.AllowAutoTopicCreation()), nil
}

// printRecords prints until limit records are out, none came for quiet (0 or less: for ever), or ctx ends.
func printRecords(ctx context.Context, client *kgo.Client, format recordFormat, limit int64, quiet time.Duration, c console) (int64, error) {
	out := bufio.NewWriter(c.out)
	var printed int64
	for limit < 0 || printed < limit {
		poll, stop := ctx, context.CancelFunc(func() {})
		if quiet > 0 {
			poll, stop = context.WithTimeout(ctx, quiet)
		}
		fetches := client.PollFetches(poll)
		timedOut := poll.Err() != nil
		stop()
		for records := fetches.RecordIter(); !records.Done() && (limit < 0 || printed < limit); printed++ {
			format.print(out, records.Next())
		}
		if err := out.Flush(); err != nil {
			return printed, err
		}
		if timedOut || ctx.Err() != nil {
			return printed, nil
		}
		if err := fetches.Err(); err != nil {
			return printed, err
		}
	}
	return printed, nil
}
