// Command kafkatools is those of Kafka's command line tools that scripts and health checks in containers call, in one
// small binary. The name that it is called by says which tool: kafka-topics.sh and kafka-topics are the same; called
// as kafkatools, its first argument is that name.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// console is where a tool reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// tool is one command line tool; run returns its exit code.
type tool struct {
	about string
	run   func(ctx context.Context, args []string, c console) int
}

// tools are the tools by the name that Kafka's distribution gives them, without ".sh".
func tools() map[string]tool {
	return map[string]tool{
		"kafka-topics":              {"create, list, describe, alter and delete topics", runTopics},
		"kafka-configs":             {"describe and alter settings of topics, groups and brokers", runConfigs},
		"kafka-console-producer":    {"send lines of standard input as records", runConsoleProducer},
		"kafka-console-consumer":    {"print records", runConsoleConsumer},
		"kafka-consumer-groups":     {"list, describe, reset and delete consumer groups", runConsumerGroups},
		"kafka-broker-api-versions": {"print the versions of each API that a broker serves", runAPIVersions},
		"kafka-get-offsets":         {"print offsets of partitions", runGetOffsets},
		"kafka-cluster":             {"print the id of the cluster", runCluster},
		"kafka-storage":             {"format a data directory, make a cluster id (minibroker format)", runStorage},
		"kafka-server-start":        {"start the broker (minibroker)", runServerStart},
		"kafka-dump-log":            {"print what is in the files of a data directory (minibroker dump)", runDumpLog},
		"cub":                       {"kafka-ready -b HOST:PORT COUNT SECONDS: wait for a broker", runReady},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := dispatch(ctx, os.Args, console{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// dispatch runs the tool that args name.
func dispatch(ctx context.Context, args []string, c console) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".sh")
	args = args[1:]
	all := tools()
	if _, found := all[name]; !found && len(args) > 0 {
		name, args = strings.TrimSuffix(args[0], ".sh"), args[1:]
	}
	t, found := all[name]
	if !found {
		fmt.Fprintf(c.err, "%s is not one of the tools here. They are:\n", name)
		names := make([]string, 0, len(all))
		for n := range all {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			fmt.Fprintf(c.err, "  %-26s %s\n", n, all[n].about)
		}
		fmt.Fprintln(c.err, "All others are in the Apache Kafka distribution and work against this broker.")
		return 1
	}
	return t.run(ctx, args, c)
}
