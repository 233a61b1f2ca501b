package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// startKafka starts Apache Kafka itself, broker and controller in one, on log dirs that were formatted, and waits until it
// serves.
func startKafka(t *testing.T, dirs []string, addr string, overrides ...string) *Process {
	t.Helper()
	props := append(kafkaProperties(dirs, addr, freeAddr(t)), overrides...)
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte(strings.Join(props, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return startKafkaWith(t, file, dirs[0], addr)
}

// kafkaProperties are the settings of a node that is broker and controller.
func kafkaProperties(dirs []string, addr, controller string) []string {
	return []string{
		"process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@" + controller,
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller, "advertised.listeners=PLAINTEXT://" + addr,
		"controller.listener.names=CONTROLLER", "log.dirs=" + strings.Join(dirs, ","),
		"offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
		"offsets.topic.num.partitions=2", "group.initial.rebalance.delay.ms=0", "metadata.max.idle.interval.ms=0",
	}
}

// startKafkaWith starts Apache Kafka with a properties file and waits until it serves.
func startKafkaWith(t *testing.T, file, data, addr string) *Process {
	t.Helper()
	libs := kafkaLibs(t)
	return launch(t, "Kafka", &Process{Addr: addr, Data: data, cmd: exec.Command("java", "-Xmx512m", "-XX:TieredStopAtLevel=1",
		"-Dlog4j2.configurationFile="+filepath.Join("testdata", "kafka", "server-log4j2.yaml"), "-cp", filepath.Join(libs, "*"), "kafka.Kafka", file)}, javaTimeout)
}

// end ends a process with SIGTERM and waits for it.
func (p *Process) end(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(2 * patience):
		t.Fatalf("no end within %v:\n%s", 2*patience, p.Output())
	}
}

// StopDirs ends minibroker cleanly and checks every file of its log dirs.
func (p *Process) StopDirs(t *testing.T, dirs []string) {
	t.Helper()
	p.end(t)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("broker ended with code %d:\n%s", code, p.Output())
	}
	verifyDirs(t, dirs)
}

func verifyDirs(t *testing.T, dirs []string) {
	t.Helper()
	for _, dir := range dirs {
		findings, err := logstore.Verify(vfs.OS(), dir)
		if err != nil {
			t.Fatalf("verify %s: %v", dir, err)
		}
		for _, f := range findings {
			t.Errorf("verify: %s at byte %d: %s", f.File, f.Offset, f.Text)
		}
	}
}

// alarms are the lines of WARN and worse that Kafka printed, without those that it prints on its own directories too: at
// every activation of the controller, and now and then at a stop.
func alarms(out string) []string {
	pattern := regexp.MustCompile("Performing controller activation|Attempting to close NetworkClient that has already been closed")
	var found []string
	for line := range strings.Lines(out) {
		if regexp.MustCompile(`\] (WARN|ERROR|FATAL) `).MatchString(line) && !pattern.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// refusedStart runs the broker and expects that it ends by itself with an error; it returns what it printed.
func refusedStart(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Getenv(brokerBinaryEnv), args...)
	stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stop.Stop()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(err.Error(), "exit status") {
		t.Errorf("minibroker %s: %v, want an exit with an error\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
