package integration

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestClients produces with one client after the other and consumes with every one of them, before and after a clean
// stop: kcat (librdkafka), franz-go and the Java console tools.
func TestClients(t *testing.T) {
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	clients := []client{goClient{}, javaClient{}, kcatClient{}}
	var sent []string
	for _, c := range clients {
		t.Run("produce with "+c.name(), func(t *testing.T) {
			c.need(t)
			lines := []string{c.name() + " one", c.name() + " two", c.name() + " three"}
			c.produce(t, addr, "words", lines)
			sent = append(sent, lines...)
		})
	}
	consumeAll := func(when string) {
		for _, c := range clients {
			t.Run(when+": consume with "+c.name(), func(t *testing.T) {
				c.need(t)
				got := c.consume(t, addr, "words", len(sent))
				if strings.Join(got, "\n") != strings.Join(sent, "\n") {
					t.Errorf("%s read %q, expected %q", c.name(), got, sent)
				}
			})
		}
	}
	consumeAll("running")
	p.Stop(t)
	p = startProcess(t, data, addr, nil)
	consumeAll("restarted")
	p.Stop(t)
}

// client is one way of sending lines to partition 0 of a topic and reading them back without a group.
type client interface {
	name() string
	need(t *testing.T)
	produce(t *testing.T, addr, topic string, lines []string)
	consume(t *testing.T, addr, topic string, n int) []string
}

type goClient struct{}

func (goClient) name() string    { return "kgo" }
func (goClient) need(*testing.T) {}
func (goClient) produce(t *testing.T, addr, topic string, lines []string) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, l := range lines {
		if err := cl.ProduceSync(ctx, kgo.StringRecord(l)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func (goClient) consume(t *testing.T, addr, topic string, n int) []string {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var lines []string
	for len(lines) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { lines = append(lines, string(r.Value)) })
	}
	return lines
}

type javaClient struct{}

func (javaClient) name() string      { return "java" }
func (javaClient) need(t *testing.T) { kafkaLibs(t) }
func (javaClient) produce(t *testing.T, addr, topic string, lines []string) {
	java(t, strings.Join(lines, "\n")+"\n", "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", addr, "--topic", topic)
}

func (javaClient) consume(t *testing.T, addr, topic string, n int) []string {
	out := java(t, "", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", addr, "--topic", topic,
		"--partition", "0", "--offset", "earliest", "--max-messages", fmt.Sprint(n))
	return strings.Split(strings.TrimRight(out, "\n"), "\n")
}

type kcatClient struct{}

func (kcatClient) name() string { return "kcat" }
func (kcatClient) need(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		skipOrFail(t, "needs kcat in PATH (package kcat of Debian, Ubuntu, Homebrew)")
	}
}

func (kcatClient) produce(t *testing.T, addr, topic string, lines []string) {
	runCommand(t, strings.Join(lines, "\n")+"\n", "kcat", "-b", addr, "-t", topic, "-p", "0", "-P")
}

func (kcatClient) consume(t *testing.T, addr, topic string, n int) []string {
	out := runCommand(t, "", "kcat", "-b", addr, "-t", topic, "-p", "0", "-C", "-o", "beginning", "-c", fmt.Sprint(n), "-q")
	return strings.Split(strings.TrimRight(out, "\n"), "\n")
}

// runCommand runs a program with a bound on its time and returns its standard output.
func runCommand(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}
