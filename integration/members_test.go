package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// allClientsEnv lets every client library run in each protocol with and without instance ids; make clients sets it. Without it
// each runs in some.
const allClientsEnv = "MINIBROKER_ALL_CLIENTS"

// memberKind is a way of being a member of a group with a client library, in a process of its own.
type memberKind struct {
	name     string
	static   bool   // members have instance ids
	protocol string // "classic" or "consumer"
	// command is the program with its arguments; what it needs is there, or the test is skipped.
	command func(t *testing.T, addr, topic, group, protocol, instance string) *exec.Cmd
}

// memberKinds are the clients that users have, in the protocols that they speak.
func memberKinds() []memberKind {
	some := []memberKind{
		{"java classic static", true, "classic", javaMember}, {"java consumer", false, "consumer", javaMember},
		{"python classic", false, "classic", pythonMember}, {"python consumer static", true, "consumer", pythonMember},
		{"sarama static", true, "classic", saramaMember}, {"kcat", false, "classic", kcatMember},
	}
	if os.Getenv(allClientsEnv) == "" {
		return some
	}
	return append(some, []memberKind{
		{"java classic", false, "classic", javaMember}, {"java consumer static", true, "consumer", javaMember},
		{"python classic static", true, "classic", pythonMember}, {"python consumer", false, "consumer", pythonMember},
		{"sarama", false, "classic", saramaMember},
	}...)
}

// member is one process that reads as a member of a group. It prints the values that it reads, a line each.
type member struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}

	mu   sync.Mutex
	errs bytes.Buffer
	read int
}

// startMember starts a member, whose reads go into the tally.
func startMember(t *testing.T, cmd *exec.Cmd, c *tally) *member {
	t.Helper()
	m := &member{cmd: cmd, done: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = lockedWriter{&m.mu, &m.errs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			value := strings.TrimSpace(lines.Text())
			m.mu.Lock()
			m.read++
			m.mu.Unlock()
			c.note(func() { c.reads[value]++ })
		}
		cmd.Wait()
	}()
	t.Cleanup(func() {
		m.kill()
		if t.Failed() {
			m.mu.Lock()
			defer m.mu.Unlock()
			t.Logf("%s printed:\n%s", cmd.Args[0], m.errs.String())
		}
	})
	return m
}

// lockedWriter writes to a buffer that others read.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// count is how many values it has read.
func (m *member) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read
}

// leave lets it say goodbye, and waits.
func (m *member) leave(t *testing.T) {
	t.Helper()
	m.stdin.Close()
	if strings.HasSuffix(m.cmd.Path, "kcat") {
		m.cmd.Process.Signal(os.Interrupt)
	}
	if !await(patience, func() bool {
		select {
		case <-m.done:
			return true
		default:
			return false
		}
	}) {
		t.Fatalf("%s did not end", m.cmd.Args[0])
	}
}

// kill ends it as a crash does.
func (m *member) kill() {
	m.cmd.Process.Kill()
	<-m.done
}

func kcatMember(t *testing.T, addr, topic, group, _, _ string) *exec.Cmd {
	t.Helper()
	kcatClient{}.need(t)
	return exec.Command("kcat", "-b", addr, "-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=3000", "-X", "heartbeat.interval.ms=300",
		"-X", "auto.commit.interval.ms=50", "-u", "-q", "-G", group, topic)
}

func javaMember(t *testing.T, addr, topic, group, protocol, instance string) *exec.Cmd {
	t.Helper()
	libs := kafkaLibs(t)
	return exec.Command("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile="+filepath.Join("testdata", "kafka", "log4j2.yaml"),
		"-cp", filepath.Join(libs, "*"), filepath.Join("testdata", "java", "Member.java"), addr, topic, group, protocol, instance)
}

func pythonMember(t *testing.T, addr, topic, group, protocol, instance string) *exec.Cmd {
	t.Helper()
	return exec.Command(python(t), filepath.Join("testdata", "python", "member.py"), addr, topic, group, protocol, instance)
}

func saramaMember(t *testing.T, addr, topic, group, _, instance string) *exec.Cmd {
	t.Helper()
	program, err := saramaProgram()
	if err != nil {
		skipOrFail(t, "needs Sarama from the Go module proxy: "+err.Error())
	}
	return exec.Command(program, addr, topic, group, instance)
}

// saramaProgram builds the program of testdata/sarama once. It is a module of its own, so that Sarama is no dependency of
// minibroker.
var saramaProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(filepath.Dir(os.Getenv(brokerBinaryEnv)), "sarama-member")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("testdata", "sarama")
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build testdata/sarama: %w\n%s", err, out)
	}
	return program, nil
})
