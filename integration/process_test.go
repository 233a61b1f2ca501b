package integration

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// patience bounds every wait for something that must happen; it is generous because the machine may be busy.
const patience = 30 * time.Second

// Process is one running minibroker.
type Process struct {
	Addr string
	Data string

	cmd    *exec.Cmd
	exited chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// freeAddr finds a loopback address that nothing listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startProcess starts the broker on data and waits for its ready line.
func startProcess(t *testing.T, data, addr string, overrides []string) *Process {
	t.Helper()
	args := []string{"--data-dir", data, "--listen", addr}
	for _, o := range overrides {
		args = append(args, "--override", o)
	}
	return startArgs(t, data, addr, args)
}

// startArgs starts the broker with a command line of its own.
func startArgs(t *testing.T, data, addr string, args []string) *Process {
	t.Helper()
	return launch(t, "broker", &Process{Addr: addr, Data: data, cmd: exec.Command(os.Getenv(brokerBinaryEnv), args...)}, patience)
}

// launch starts the command of p and waits until it has printed Kafka's ready line.
func launch(t *testing.T, name string, p *Process, limit time.Duration) *Process {
	t.Helper()
	p.exited = make(chan struct{})
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go p.collect(stdout, ready)
	t.Cleanup(p.Kill)
	select {
	case <-ready:
	case <-p.exited:
		t.Fatalf("%s ended before it was ready:\n%s", name, p.Output())
	case <-time.After(limit):
		t.Fatalf("%s not ready after %v:\n%s", name, limit, p.Output())
	}
	return p
}

// collect reads the broker's output until it ends, then reaps it.
func (p *Process) collect(stdout io.Reader, ready chan<- struct{}) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		p.out.WriteString(line)
		p.mu.Unlock()
		if strings.Contains(line, "Kafka Server started") {
			close(ready)
		}
		if err != nil {
			break
		}
	}
	p.cmd.Wait()
	close(p.exited)
}

// Output is what the broker printed so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// Stop ends the broker with SIGTERM and expects exit code 0.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("broker did not stop within %v:\n%s", patience, p.Output())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("broker ended with code %d:\n%s", code, p.Output())
	}
	verifyStore(t, p.Data)
}

// verifyStore checks every file of a stopped broker's data directory.
func verifyStore(t *testing.T, data string) {
	t.Helper()
	findings, err := logstore.Verify(vfs.OS(), data)
	if err != nil {
		t.Fatalf("verify %s: %v", data, err)
	}
	for _, f := range findings {
		t.Errorf("verify: %s at byte %d: %s", f.File, f.Offset, f.Text)
	}
}

// Kill ends the broker with SIGKILL and waits until it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// await asks cond again and again until it is true or limit has passed, and reports whether it was.
func await(limit time.Duration, cond func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			return cond()
		case <-tick.C:
		}
	}
	return true
}
