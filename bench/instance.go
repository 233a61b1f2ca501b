package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// instance is a directory and the process that serves it.
type instance struct {
	peer     *peer
	dir      string   // data, the properties file and the broker's output
	port     int      // and the one above it, for Kafka's controller
	http     string   // where minibroker serves its metrics, if anywhere
	settings []string // key=value, over those that all have

	cmd      *exec.Cmd
	exited   chan struct{}
	spent    time.Duration // processor time of the processes that have ended; to be read when exited is closed
	begun    time.Time     // just before the process was made
	answered time.Duration // from then to the first answer
}

func (i *instance) addr() string       { return net.JoinHostPort("127.0.0.1", strconv.Itoa(i.port)) }
func (i *instance) data() string       { return filepath.Join(i.dir, "data") }
func (i *instance) properties() string { return filepath.Join(i.dir, "server.properties") }
func (i *instance) output() string     { return filepath.Join(i.dir, "output") }

// layOut makes the directory and formats it where that is needed. The settings are Kafka's defaults but for those that one
// node needs and the wait before a group's first rebalance, which would hide how fast a broker is.
func (i *instance) layOut() error {
	if err := os.MkdirAll(i.data(), 0o755); err != nil {
		return err
	}
	lines := append([]string{
		"process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@127.0.0.1:" + strconv.Itoa(i.port+1),
		"listeners=PLAINTEXT://" + i.addr() + ",CONTROLLER://127.0.0.1:" + strconv.Itoa(i.port+1), "advertised.listeners=PLAINTEXT://" + i.addr(),
		"controller.listener.names=CONTROLLER", "log.dirs=" + i.data(),
		"offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
	}, i.settings...)
	if err := os.WriteFile(i.properties(), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if i.peer.prepare == nil {
		return nil
	}
	format := i.peer.prepare(i)
	if out, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("format: %w: %s", err, lastLine(out))
	}
	i.spent = format.ProcessState.UserTime() + format.ProcessState.SystemTime()
	return nil
}

// start runs the broker until it answers ApiVersions, for which it is asked twice a millisecond.
func (i *instance) start(ctx context.Context) error {
	output, err := os.OpenFile(i.output(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	i.cmd, i.exited = i.peer.command(i), make(chan struct{})
	i.cmd.Stdout, i.cmd.Stderr = output, output
	apart(i.cmd) // Ctrl-C is for the bench, which then ends what it started
	i.begun = time.Now()
	if err := i.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		i.spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		close(exited)
	}(i.cmd, i.exited)
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for !i.answers() {
		select {
		case <-ctx.Done():
			i.kill()
			return fmt.Errorf("no answer since the start: %w", ctx.Err())
		case <-i.exited:
			return i.gone()
		case <-tick.C:
		}
	}
	i.answered = time.Since(i.begun)
	return nil
}

func (i *instance) answers() bool {
	c, err := dial(i.addr())
	if err != nil {
		return false
	}
	defer c.Close()
	return c.greet() == nil
}

// gone says how a process ended that should be there.
func (i *instance) gone() error {
	raw, _ := os.ReadFile(i.output())
	return fmt.Errorf("the broker has ended; it said last: %s", lastLine(raw))
}

func (i *instance) running() bool {
	if i.cmd == nil || i.cmd.Process == nil {
		return false
	}
	select {
	case <-i.exited:
		return false
	default:
		return true
	}
}

// stop asks the broker to end and waits until it has.
func (i *instance) stop() error {
	if !i.running() {
		return i.gone()
	}
	if err := i.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-i.exited:
		return nil
	case <-time.After(90 * time.Second):
		i.kill()
		return errors.New("no end within 90 s of SIGTERM")
	}
}

// kill ends the broker with SIGKILL, if it runs.
func (i *instance) kill() {
	if i.running() {
		_ = i.cmd.Process.Kill()
		<-i.exited
	}
}

func (i *instance) usage() (usage, error) {
	if !i.running() {
		return usage{}, i.gone()
	}
	return usageOf(i.cmd.Process.Pid)
}

// span is what passed while something was done.
type span struct {
	wall        time.Duration
	broker, own time.Duration // processor time of either side
	end         usage         // of the broker; its peak is that of the span
}

// measure does something and says what it took.
func (i *instance) measure(do func() error) (span, error) {
	if !i.running() {
		return span{}, i.gone()
	}
	resetPeak(i.cmd.Process.Pid)
	before, err := i.usage()
	if err != nil {
		return span{}, err
	}
	own, begun := ownCPU(), time.Now()
	if err := do(); err != nil {
		if !i.running() {
			return span{}, fmt.Errorf("%w: %w", i.gone(), err)
		}
		return span{}, err
	}
	s := span{wall: time.Since(begun), own: ownCPU() - own}
	s.end, err = i.usage()
	s.broker = s.end.cpu - before.cpu
	return s, err
}
