package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// broker starts the broker that suites are run against.
type broker struct {
	Kind       string // minibroker or kafka
	work       string
	java       string // class path of Apache Kafka
	port       string // some suites have 9092 in their code
	controller string // the controller's port
}

// address is where the broker listens.
func (b broker) address() string { return net.JoinHostPort("127.0.0.1", b.port) }

// newBroker looks whether the broker can be had.
func newBroker(kind, work string) (broker, error) {
	b := broker{Kind: kind, work: work, port: "9092", controller: "9192"}
	switch kind {
	case "minibroker":
	case "kafka":
		home := os.Getenv("KAFKA_HOME")
		if libs, _ := filepath.Glob(filepath.Join(home, "libs", "kafka_2*.jar")); len(libs) == 0 {
			return b, errors.New("KAFKA_HOME must name a folder of Apache Kafka with libs/")
		}
		b.java = filepath.Join(home, "libs", "*")
	default:
		return b, fmt.Errorf("there is no broker %q: minibroker or kafka", kind)
	}
	return b, nil
}

// build makes minibroker of this tree; Apache Kafka is built already.
func (b broker) build() error {
	if err := os.MkdirAll(b.work, 0o755); err != nil || b.Kind == "kafka" {
		return err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(b.work, "minibroker"), "./cmd/minibroker")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build minibroker: %w\n%s", err, out)
	}
	return nil
}

// settings are those of a node that is broker and controller, as users of one node set them, and the suite's.
func (b broker) settings(s suite, data string) []string {
	node, advertised := "1", "advertised.listeners=PLAINTEXT://localhost:"+b.port
	for _, l := range s.Settings {
		if id, ok := strings.CutPrefix(l, "node.id="); ok {
			node = id
		}
		if strings.HasPrefix(l, "advertised.listeners=") {
			advertised = l
		}
	}
	return append([]string{
		"process.roles=broker,controller", "node.id=" + node, "controller.quorum.voters=" + node + "@localhost:" + b.controller,
		"listeners=PLAINTEXT://:" + b.port + ",CONTROLLER://:" + b.controller, advertised, "controller.listener.names=CONTROLLER", "log.dirs=" + data,
		"offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
	}, s.Settings...)
}

// running is a broker that serves.
type running struct {
	broker
	cmd  *exec.Cmd
	base string // server.properties, log and data/
}

// start starts a broker with empty directories and waits until it takes connections.
func (b broker) start(s suite) (*running, error) {
	r := &running{broker: b, base: filepath.Join(b.work, "broker-"+b.Kind+"-"+s.Name)}
	if err := os.RemoveAll(r.base); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.data(), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(r.file(), []byte(strings.Join(b.settings(s, r.data()), "\n")+"\n"), 0o644); err != nil {
		return nil, err
	}
	if b.Kind == "kafka" {
		format := exec.Command("java", "-cp", b.java, "kafka.tools.StorageTool", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", r.file())
		if out, err := format.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("format: %w\n%s", err, out)
		}
	}
	return r, r.launch()
}

func (r *running) data() string { return filepath.Join(r.base, "data") }
func (r *running) file() string { return filepath.Join(r.base, "server.properties") }
func (r *running) log() string  { return filepath.Join(r.base, "log") }
func (b broker) exe() string    { return filepath.Join(b.work, "minibroker") }

// launch starts the process on the directories that are there.
func (r *running) launch() error {
	r.cmd = exec.Command(r.exe(), r.file())
	if r.Kind == "kafka" {
		logging, err := filepath.Abs(filepath.Join("integration", "testdata", "kafka", "server-log4j2.yaml"))
		if err != nil {
			return err
		}
		r.cmd = exec.Command("java", "-Xmx1g", "-Dlog4j2.configurationFile="+logging, "-cp", r.java, "kafka.Kafka", r.file())
	}
	log, err := os.Create(r.log())
	if err != nil {
		return err
	}
	defer log.Close()
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		return err
	}
	return r.await()
}

// restartEvery stops and starts the broker again and again until done is closed, each time when it has served for the pause, and sends what
// went wrong.
func (r *running) restartEvery(pause time.Duration, done <-chan struct{}, result chan<- error) {
	served := time.NewTimer(pause)
	defer served.Stop()
	for {
		select {
		case <-done:
			result <- nil
			return
		case <-served.C:
			if err := errors.Join(r.end(), r.launch()); err != nil {
				result <- fmt.Errorf("restart: %w", err)
				return
			}
			served.Reset(pause)
		}
	}
}

// await waits until the broker has printed that it serves and takes a connection.
func (r *running) await() error {
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-limit.C:
			return errors.Join(fmt.Errorf("the broker does not serve; its log is %s", r.log()), r.end())
		case <-tick.C:
			if text, _ := os.ReadFile(r.log()); !strings.Contains(string(text), "Kafka Server started") {
				continue
			}
			if c, err := net.Dial("tcp", r.address()); err == nil {
				return c.Close()
			}
		}
	}
}

// end ends the broker as a service manager does.
func (r *running) end() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the broker ended before the suite did: %w", err)
	}
	kill := time.AfterFunc(time.Minute, func() { r.cmd.Process.Kill() })
	defer kill.Stop()
	if err := r.cmd.Wait(); err != nil && r.Kind == "minibroker" { // Java ends with 143
		return fmt.Errorf("the broker did not end well: %w; its log is %s", err, r.log())
	}
	return nil
}

// stop ends the broker for good and, where it is minibroker, checks every file that it wrote.
func (r *running) stop() error {
	if err := r.end(); err != nil || r.Kind != "minibroker" {
		return err
	}
	if out, err := exec.Command(r.exe(), "verify", r.data()).CombinedOutput(); err != nil {
		return fmt.Errorf("verify: %w\n%s", err, out)
	}
	return os.RemoveAll(r.base)
}
