package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func addressGrammar() grammar {
	return grammar{valued: []string{"bootstrap-server", "command-config", "config"}, plain: []string{"help", "version"}}
}

// runAPIVersions is kafka-broker-api-versions.
func runAPIVersions(ctx context.Context, args []string, c console) int {
	g := addressGrammar()
	a, err := g.parse(args)
	if err != nil {
		return c.wrong(g, err)
	}
	client, err := connect(a)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	if err := printAPIVersions(ctx, client, c); err != nil {
		fmt.Fprintln(c.err, err)
		return 1
	}
	return 0
}

func printAPIVersions(ctx context.Context, client *kgo.Client, c console) error {
	cluster, err := metadata(ctx, client)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "kafkatools", "1"
	for _, b := range cluster.Brokers {
		answer, err := client.Broker(int(b.NodeID)).RetriableRequest(ctx, request)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s:%d (id: %d rack: %s isFenced: false) -> (\n", b.Host, b.Port, b.NodeID, orNull(b.Rack))
		versions := answer.(*kmsg.ApiVersionsResponse)
		if err := answerError(versions.ErrorCode, nil); err != nil {
			return err
		}
		for i, k := range versions.ApiKeys {
			end := ","
			if i == len(versions.ApiKeys)-1 {
				end = ""
			}
			name := kmsg.NameForKey(k.ApiKey)
			span := fmt.Sprintf("%d to %d", k.MinVersion, k.MaxVersion)
			if k.MinVersion == k.MaxVersion {
				span = strconv.Itoa(int(k.MinVersion))
			}
			fmt.Fprintf(c.out, "\t%s(%d): %s [usable: %d]%s\n", name, k.ApiKey, span, usable(k), end)
		}
		fmt.Fprintln(c.out, ")")
	}
	return nil
}

// usable is the newest version that both sides speak.
func usable(k kmsg.ApiVersionsResponseApiKey) int16 {
	if ours, known := kversion.Stable().LookupMaxKeyVersion(k.ApiKey); known && ours < k.MaxVersion {
		return ours
	}
	return k.MaxVersion
}

// runCluster is kafka-cluster cluster-id.
func runCluster(ctx context.Context, args []string, c console) int {
	g := addressGrammar()
	a, err := g.parse(args)
	if err == nil && (len(a.rest) != 1 || a.rest[0] != "cluster-id") {
		err = errors.New("this image's kafka-cluster knows cluster-id alone")
	}
	if err != nil {
		return c.wrong(g, err)
	}
	client, err := connect(a)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	answer, err := metadata(ctx, client)
	if err != nil {
		fmt.Fprintln(c.err, err)
		return 1
	}
	fmt.Fprintf(c.out, "Cluster ID: %s\n", orNull(answer.ClusterID))
	return 0
}

// runReady is cub kafka-ready: it waits until so many brokers answer, for at most so many seconds.
func runReady(ctx context.Context, args []string, c console) int {
	g := grammar{valued: []string{"b", "bootstrap-server", "c", "config", "z", "s"}}
	if len(args) == 0 || args[0] != "kafka-ready" {
		fmt.Fprintln(c.err, "usage: cub kafka-ready -b HOST:PORT COUNT SECONDS")
		return 1
	}
	a, err := g.parse(args[1:])
	if err != nil || len(a.rest) != 2 || a.one("b") == "" {
		return c.wrong(g, errors.Join(err, errors.New("usage: cub kafka-ready -b HOST:PORT COUNT SECONDS")))
	}
	count, err1 := strconv.Atoi(a.rest[0])
	seconds, err2 := strconv.Atoi(a.rest[1])
	if err := errors.Join(err1, err2); err != nil {
		return c.wrong(g, err)
	}
	a.values["bootstrap-server"] = a.values["b"]
	ctx, stop := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer stop()
	client, err := connect(a)
	if err != nil {
		return c.wrong(g, err)
	}
	defer client.Close()
	answer, err := metadata(ctx, client)
	if err == nil && len(answer.Brokers) < count {
		err = fmt.Errorf("Expected %d brokers but found only %d", count, len(answer.Brokers))
	}
	if err != nil {
		fmt.Fprintln(c.err, err)
		return 1
	}
	return 0
}

// runStorage is kafka-storage: minibroker format and minibroker random-uuid do the work.
func runStorage(ctx context.Context, args []string, c console) int {
	if len(args) == 0 {
		fmt.Fprintln(c.err, "usage: kafka-storage {format,random-uuid} ...")
		return 1
	}
	if args[0] != "format" && args[0] != "random-uuid" {
		fmt.Fprintf(c.err, "%s: this image's kafka-storage knows format and random-uuid\n", args[0])
		return 1
	}
	return minibroker(ctx, args, c)
}

// runDumpLog is kafka-dump-log.
func runDumpLog(ctx context.Context, args []string, c console) int {
	g := grammar{valued: []string{"files"}, plain: []string{"print-data-log", "deep-iteration", "offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder", "help", "version"}}
	a, err := g.parse(args)
	if err == nil && !a.has("files") {
		err = errors.New("Missing required argument \"[files]\"")
	}
	if err != nil {
		return c.wrong(g, err)
	}
	return minibroker(ctx, append([]string{"dump"}, strings.Split(a.one("files"), ",")...), c)
}

// runServerStart is kafka-server-start: [-daemon] FILE [--override k=v]...
func runServerStart(_ context.Context, args []string, c console) int {
	if len(args) > 0 && args[0] == "-daemon" {
		fmt.Fprintln(c.err, "-daemon: this tool runs the broker in the foreground; let the shell or the container put it in the background")
		args = args[1:]
	}
	program := brokerProgram()
	path, err := exec.LookPath(program)
	if err == nil {
		err = syscall.Exec(path, append([]string{program}, args...), os.Environ()) // the broker takes this process's place and its signals
	}
	fmt.Fprintf(c.err, "%s: %v\n", program, err)
	return 1
}

// brokerProgram is the broker's own binary, which stands beside this one or on the path.
func brokerProgram() string {
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), "minibroker"); isFile(beside) {
			return beside
		}
	}
	return "minibroker"
}

// minibroker runs the broker's binary for one of its subcommands and returns its exit code.
func minibroker(ctx context.Context, args []string, c console) int {
	cmd := exec.CommandContext(ctx, brokerProgram(), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, c.err
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return max(failed.ExitCode(), 1)
	case err != nil:
		fmt.Fprintln(c.err, err)
		return 1
	}
	return 0
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
