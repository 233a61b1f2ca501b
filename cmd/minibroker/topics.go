package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/client"
	"minibroker/config"
)

// remote is what the commands that talk to a broker have in common.
type remote struct {
	broker  string
	timeout time.Duration
}

// defaultPatience is how long such a command waits for the broker.
const defaultPatience = 10 * time.Second

// add defines the flags.
func (r *remote) add(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVarP(&r.broker, "broker", "b", defaultAddress, "the broker at `HOST:PORT`")
	cmd.PersistentFlags().DurationVar(&r.timeout, "timeout", defaultPatience, "give up after this time")
}

// with runs work with a client, for as long as the time-out allows.
func (r *remote) with(ctx context.Context, work func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	c := client.New(r.broker)
	defer c.Close()
	err := work(ctx, c)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %v: %w", r.broker, r.timeout, err)
	}
	return err
}

func newTopics(stdout io.Writer) *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "Create, list, describe and delete topics of a running broker",
		Example: `  minibroker topics create orders --partitions 3 --config cleanup.policy=compact
  minibroker topics list
  minibroker topics describe orders
  minibroker topics delete orders -b broker.example.com:9092`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.add(cmd)
	cmd.AddCommand(newTopicsCreate(stdout, &r), newTopicsList(stdout, &r), newTopicsDescribe(stdout, &r), newTopicsDelete(stdout, &r))
	return cmd
}

func newTopicsCreate(stdout io.Writer, r *remote) *cobra.Command {
	var partitions int32
	var configs []string
	var lenient bool
	cmd := &cobra.Command{
		Use:   "create NAME...",
		Short: "Create topics",
		Long:  "create creates topics. NAME may be written as for --topic: name:partitions[:key=value...].",
		Example: `  minibroker topics create orders
  minibroker topics create orders:3:retention.ms=60000 audit:1 --if-not-exists`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			topics, err := topicsToCreate(args, partitions, configs)
			if err != nil {
				return err
			}
			return r.with(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				for _, t := range topics {
					err := c.CreateTopic(ctx, t.Name, int32(t.Partitions), t.Configs)
					switch {
					case lenient && errors.Is(err, kerr.TopicAlreadyExists):
						continue
					case err != nil:
						return err
					}
					fmt.Fprintf(stdout, "created %s\n", t.Name)
				}
				return nil
			})
		},
	}
	cmd.Flags().Int32VarP(&partitions, "partitions", "p", -1, "how many partitions; -1 takes the broker's num.partitions")
	cmd.Flags().StringArrayVarP(&configs, "config", "c", nil, "set `key=value`; may be repeated")
	cmd.Flags().BoolVar(&lenient, "if-not-exists", false, "a topic that exists is no error")
	return cmd
}

// topicsToCreate puts what stands with the names and the flags together.
func topicsToCreate(args []string, partitions int32, configs []string) ([]config.StartTopic, error) {
	var topics []config.StartTopic
	for _, arg := range args {
		t, err := config.ParseStartTopic(arg)
		if err != nil {
			return nil, usageError{err}
		}
		if t.Partitions == 0 {
			t.Partitions = int(partitions)
		}
		for _, pair := range configs {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return nil, usageError{fmt.Errorf("--config %s: want key=value", pair)}
			}
			if t.Configs == nil {
				t.Configs = map[string]string{}
			}
			t.Configs[key] = value
		}
		topics = append(topics, t)
	}
	return topics, nil
}

func newTopicsList(stdout io.Writer, r *remote) *cobra.Command {
	internal := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the names of all topics",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				m, err := c.Metadata(ctx, false)
				if err != nil {
					return err
				}
				for _, t := range sortedTopics(m) {
					if internal || !t.IsInternal {
						fmt.Fprintln(stdout, *t.Topic)
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "those that the broker keeps its own state in as well")
	return cmd
}

// sortedTopics are the topics that have a name, by it.
func sortedTopics(m *kmsg.MetadataResponse) []kmsg.MetadataResponseTopic {
	topics := slices.DeleteFunc(m.Topics, func(t kmsg.MetadataResponseTopic) bool { return t.Topic == nil })
	slices.SortFunc(topics, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(*a.Topic, *b.Topic) })
	return topics
}

func newTopicsDescribe(stdout io.Writer, r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "describe [NAME...]",
		Short: "Describe topics: partitions with the offsets of their ends, and the settings that differ from the defaults",
		Args:  usageArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, names []string) error {
			return r.with(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				m, err := c.Metadata(ctx, false, names...)
				if err != nil {
					return err
				}
				for _, t := range sortedTopics(m) {
					if err := describeTopic(ctx, stdout, c, *t.Topic); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func describeTopic(ctx context.Context, stdout io.Writer, c *client.Client, name string) error {
	t, err := c.Topic(ctx, name, false)
	if err != nil {
		return err
	}
	configs, err := c.Configs(ctx, client.TopicConfig, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s, %d partitions\n", name, len(t.Leaders))
	for _, config := range configs {
		if config.Source == kmsg.ConfigSourceDynamicTopicConfig && config.Value != nil {
			fmt.Fprintf(stdout, "  %s=%s\n", config.Name, *config.Value)
		}
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  partition\tfirst\tnext\tleader")
	for p, leader := range t.Leaders {
		if leader == "" {
			fmt.Fprintf(table, "  %d\t-\t-\tnone\n", p)
			continue
		}
		first, err := c.Offset(ctx, t, int32(p), client.Earliest)
		if err != nil {
			return err
		}
		next, err := c.Offset(ctx, t, int32(p), client.Latest)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "  %d\t%d\t%d\t%s\n", p, first, next, leader)
	}
	return table.Flush()
}

func newTopicsDelete(stdout io.Writer, r *remote) *cobra.Command {
	lenient := false
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete topics with all their records",
		Args:  usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			return r.with(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				for _, name := range names {
					err := c.DeleteTopic(ctx, name)
					switch {
					case lenient && errors.Is(err, kerr.UnknownTopicOrPartition):
						continue
					case err != nil:
						return err
					}
					fmt.Fprintf(stdout, "deleted %s\n", name)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&lenient, "if-exists", false, "a topic that does not exist is no error")
	return cmd
}
