package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"minibroker/client"
	"minibroker/record"
)

// consuming is the command line of consume.
type consuming struct {
	remote
	topic         string
	count         int
	fromBeginning bool
	exit          bool
	partition     int32
	group         string
	keys, json    bool
}

func newConsume(stdout io.Writer) *cobra.Command {
	c := consuming{partition: -1}
	cmd := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print records as they come",
		Long: `consume prints the value of each record that comes from now on, a line each. With --from-beginning it prints what is there already, and
with --exit it ends where the partitions ended when it began. With --group it reads as a member of a consumer group: from where
the group is, the partitions that the group gives it, and commits what it printed.`,
		Example: `  minibroker consume words
  minibroker consume words --from-beginning --exit
  minibroker consume words --from-beginning -n 10 --json | jq .key
  minibroker consume orders --group billing --from-beginning`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.topic = args[0]
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return c.run(ctx, stdout)
		},
	}
	c.add(cmd)
	set := cmd.Flags()
	set.IntVarP(&c.count, "count", "n", 0, "end after so many records; 0 is without end")
	set.BoolVar(&c.fromBeginning, "from-beginning", false, "begin at the first record; in a group, where nothing is committed")
	set.BoolVarP(&c.exit, "exit", "e", false, "end when everything was read that was there at the beginning")
	set.Int32VarP(&c.partition, "partition", "p", c.partition, "read this partition only; -1 reads all")
	set.StringVarP(&c.group, "group", "g", "", "read as a member of the consumer group `NAME`")
	set.BoolVar(&c.keys, "keys", false, "print the key and a tab before each value")
	set.BoolVar(&c.json, "json", false, "print an object a line: topic, partition, offset, timestamp, key, value, headers")
	return cmd
}

// errDone ends reading when it is complete.
var errDone = errors.New("done")

// reader is one run of consume.
type reader struct {
	*consuming
	client *client.Client
	topic  client.Topic
	member *client.Member // nil without a group
	out    *bufio.Writer

	at      []*client.Position
	ends    map[int32]int64 // where --exit ends
	printed int
}

// run reads until it is complete or ctx ends, which is no error.
func (c *consuming) run(ctx context.Context, stdout io.Writer) error {
	if c.group != "" && c.partition >= 0 {
		return usageError{errors.New("--group and --partition are both given: a group chooses the partitions")}
	}
	r := reader{consuming: c, client: client.New(c.broker), out: bufio.NewWriter(stdout)}
	defer r.client.Close()
	err := c.within(ctx, r.begin)
	if err == nil {
		err = r.loop(ctx)
	}
	interrupted := ctx.Err() != nil
	if errors.Is(err, errDone) || interrupted {
		err = nil
	}
	return errors.Join(err, r.out.Flush(), r.leave(ctx))
}

// begin finds the topic and what to read of it.
func (r *reader) begin(ctx context.Context) (err error) {
	if r.topic, err = r.client.Topic(ctx, r.consuming.topic, false); err != nil {
		return err
	}
	if int(r.partition) >= len(r.topic.Leaders) {
		return fmt.Errorf("topic %s has %d partitions, there is no partition %d", r.topic.Name, len(r.topic.Leaders), r.partition)
	}
	var partitions []int32
	for p := range int32(len(r.topic.Leaders)) {
		if r.partition < 0 || p == r.partition {
			partitions = append(partitions, p)
		}
	}
	if r.exit {
		r.ends = map[int32]int64{}
		for _, p := range partitions {
			if r.ends[p], err = r.client.Offset(ctx, r.topic, p, client.Latest); err != nil {
				return err
			}
		}
	}
	if r.group != "" {
		r.member, err = r.client.Join(ctx, r.group, r.topic)
		return err
	}
	return r.position(ctx, partitions, nil)
}

// position begins to read partitions: where something is committed there, else at one of the ends.
func (r *reader) position(ctx context.Context, partitions []int32, committed map[int32]int64) error {
	r.at = nil
	for _, p := range partitions {
		offset, ok := committed[p]
		if !ok || offset < 0 {
			end := client.Latest
			if r.fromBeginning {
				end = client.Earliest
			}
			var err error
			if offset, err = r.client.Offset(ctx, r.topic, p, end); err != nil {
				return err
			}
		}
		r.at = append(r.at, &client.Position{Partition: p, Offset: offset})
	}
	return nil
}

// loop reads from one leader after another.
func (r *reader) loop(ctx context.Context) error {
	due := time.Now()
	for {
		if r.member != nil && !time.Now().Before(due) {
			next, err := r.beat(ctx)
			if err != nil {
				return err
			}
			due = time.Now().Add(next)
			if len(r.at) == 0 {
				if err := waitUntil(ctx, due); err != nil {
					return err
				}
				continue
			}
		}
		if r.complete() {
			return errDone
		}
		for _, positions := range r.byLeader() {
			if err := r.client.Fetch(ctx, r.topic, positions, r.print); err != nil {
				return err
			}
		}
		if err := r.out.Flush(); err != nil {
			return err
		}
	}
}

// waitUntil waits for a time, or the end of ctx.
func waitUntil(ctx context.Context, due time.Time) error {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beat tells the group that this member lives, and takes over what it is given. What was printed is committed first: the partition may
// be another's afterwards.
func (r *reader) beat(ctx context.Context) (next time.Duration, err error) {
	if err := r.member.Commit(ctx, r.at); err != nil {
		return 0, err
	}
	next, partitions, changed, err := r.member.Beat(ctx)
	if err != nil || !changed {
		return next, err
	}
	if len(partitions) == 0 {
		r.at = nil
		return next, nil
	}
	committed, err := r.member.Committed(ctx, partitions)
	if err != nil {
		return 0, err
	}
	return next, r.position(ctx, partitions, committed)
}

// complete tells whether --exit has come to its end.
func (r *reader) complete() bool {
	if r.ends == nil || r.member != nil && len(r.at) == 0 {
		return false
	}
	return !slices.ContainsFunc(r.at, func(p *client.Position) bool { return p.Offset < r.ends[p.Partition] })
}

// byLeader puts the positions together that one broker can read.
func (r *reader) byLeader() map[string][]*client.Position {
	groups := map[string][]*client.Position{}
	for _, p := range r.at {
		leader := r.topic.Leaders[p.Partition]
		groups[leader] = append(groups[leader], p)
	}
	return groups
}

// print prints one record.
func (r *reader) print(partition int32, rec *record.Record) error {
	var line []byte
	if r.json {
		var err error
		if line, err = json.Marshal(shownRecord(r.topic.Name, partition, rec)); err != nil {
			return err
		}
	} else {
		if r.keys {
			line = append(append(line, rec.Key...), '\t')
		}
		line = append(line, rec.Value...)
	}
	if _, err := r.out.Write(append(line, '\n')); err != nil {
		return err
	}
	if r.printed++; r.printed == r.count {
		return errDone
	}
	return nil
}

// leave commits what was printed and leaves the group. It has a moment for that even when ctx ended.
func (r *reader) leave(ctx context.Context) error {
	if r.member == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	return errors.Join(r.member.Commit(ctx, r.at), r.member.Leave(ctx))
}

// shown is a record as JSON. Key, value and the values of headers are null, text, or {"base64": "..."} for what is not UTF-8.
type shown struct {
	Topic     string        `json:"topic"`
	Partition int32         `json:"partition"`
	Offset    int64         `json:"offset"`
	Timestamp int64         `json:"timestamp"`
	Key       any           `json:"key"`
	Value     any           `json:"value"`
	Headers   []shownHeader `json:"headers,omitempty"`
}

type shownHeader struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func shownRecord(topic string, partition int32, r *record.Record) shown {
	s := shown{Topic: topic, Partition: partition, Offset: r.Offset, Timestamp: r.Timestamp, Key: shownBytes(r.Key), Value: shownBytes(r.Value)}
	for _, h := range r.Headers {
		s.Headers = append(s.Headers, shownHeader{Key: string(h.Key), Value: shownBytes(h.Value)})
	}
	return s
}

func shownBytes(b []byte) any {
	switch {
	case b == nil:
		return nil
	case utf8.Valid(b):
		return string(b)
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(b)}
}
