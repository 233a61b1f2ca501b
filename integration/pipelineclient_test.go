package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// pipelineEnv has the test binary copy a topic as a child process: its words are those that Pipeline.java takes.
const pipelineEnv = "MINIBROKER_PIPELINE"

// copyWithKgo copies a topic in franz-go's transactions until it is killed. What cannot go on ends the process.
func copyWithKgo(words []string) error {
	s, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(words[0]), kgo.ConsumeTopics(words[1]), kgo.DefaultProduceTopic(words[2]),
		kgo.ConsumerGroup(words[3]), kgo.TransactionalID(words[4]), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.SessionTimeout(2*time.Second), kgo.HeartbeatInterval(300*time.Millisecond), kgo.TransactionTimeout(patience),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.MetadataMinAge(20*time.Millisecond))
	if err != nil {
		return err
	}
	ctx := context.Background()
	for {
		records := s.PollRecords(ctx, 20).Records()
		if len(records) == 0 {
			continue
		}
		if err := s.Begin(); err != nil {
			return err
		}
		produced := kgo.AbortingFirstErrPromise(s.Client())
		for _, r := range records {
			s.Produce(ctx, kgo.StringRecord("<"+string(r.Value)+">"), produced.Promise())
		}
		if _, err := s.End(ctx, kgo.TransactionEndTry(produced.Err() == nil)); err != nil {
			return err
		}
	}
}

// pipelineClient is one process that copies the input; when it ends another takes its place.
type pipelineClient struct {
	name, group, out string
	command          func() *exec.Cmd

	mu      sync.Mutex
	running *exec.Cmd
	stopped bool
	asked   bool            // whether the process that runs was asked to end
	said    strings.Builder // what processes that ended by themselves printed last
	last    string          // what the last one printed, however it ended
	ended   int             // how many did
	done    chan struct{}
}

// run starts one process after the other until stop.
func (c *pipelineClient) run() {
	defer close(c.done)
	for {
		cmd := c.command()
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		c.mu.Lock()
		if c.stopped {
			c.mu.Unlock()
			return
		}
		err := cmd.Start()
		c.running = cmd
		c.mu.Unlock()
		if err == nil {
			err = cmd.Wait()
		}
		c.mu.Lock()
		c.running, c.last = nil, out.String()[max(0, out.Len()-4000):]
		if !c.asked && (err == nil || !strings.Contains(err.Error(), "killed")) {
			c.ended++
			fmt.Fprintf(&c.said, "%v: %s\n", err, c.last)
		}
		c.asked = false
		c.mu.Unlock()
	}
}

// kill ends the process that runs with SIGKILL.
func (c *pipelineClient) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil && c.running.Process != nil {
		c.running.Process.Kill()
	}
}

// terminate asks the process that runs to end, with SIGTERM.
func (c *pipelineClient) terminate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil && c.running.Process != nil {
		c.asked = true
		c.running.Process.Signal(syscall.SIGTERM)
	}
}

func (c *pipelineClient) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.kill()
	<-c.done
}

// pipelineClients are all that copy topic in: Java's client, librdkafka for Python, and two of franz-go's that share the work.
func pipelineClients(t *testing.T, addr string) []*pipelineClient {
	t.Helper()
	libs, interpreter := kafkaLibs(t), python(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := func(kind, id string) []string { return []string{addr, "in", "out-" + kind, "group-" + kind, id} }
	inJava := func() *exec.Cmd {
		return exec.Command("java", append([]string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + filepath.Join("testdata", "kafka", "log4j2.yaml"),
			"-cp", filepath.Join(libs, "*"), filepath.Join("testdata", "java", "Pipeline.java")}, words("java", "java")...)...)
	}
	inPython := func() *exec.Cmd {
		return exec.Command(interpreter, append([]string{filepath.Join("testdata", "python", "pipeline.py")}, words("python", "python")...)...)
	}
	inGo := func(id string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), pipelineEnv+"="+strings.Join(words("kgo", id), " "))
			return cmd
		}
	}
	return []*pipelineClient{
		{name: "Java", group: "group-java", out: "out-java", command: inJava, done: make(chan struct{})},
		{name: "Python", group: "group-python", out: "out-python", command: inPython, done: make(chan struct{})},
		{name: "kgo 1", group: "group-kgo", out: "out-kgo", command: inGo("kgo-1"), done: make(chan struct{})},
		{name: "kgo 2", group: "group-kgo", out: "out-kgo", command: inGo("kgo-2"), done: make(chan struct{})},
	}
}
