package integration

import (
	"os/exec"
	"strings"
	"testing"
)

// TestFaultsFromOutside: the ports of the program, as tests in other languages use them: a rule by curl, a client that gets over
// it, and what the metrics tell of that.
func TestFaultsFromOutside(t *testing.T) {
	client := kcatClient{}
	client.need(t)
	if _, err := exec.LookPath("curl"); err != nil {
		skipOrFail(t, "needs curl in PATH")
	}
	addr, monitor, control := freeAddr(t), freeAddr(t), freeAddr(t)
	data := t.TempDir()
	p := startArgs(t, data, addr, []string{"--data-dir", data, "--listen", addr, "--topic", "words:2",
		"--override", "minibroker.http.listen=" + monitor, "--control", control})
	curl := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(runCommand(t, "", "curl", append([]string{"-s", "-S"}, args...)...))
	}
	if got := curl("http://" + monitor + "/readyz"); got != "ok" {
		t.Errorf("ready: %q", got)
	}
	faults := "http://" + control + "/faults"
	if got := curl("-d", `{"api": "produce", "topic": "words", "partition": 0, "error": "NOT_LEADER_OR_FOLLOWER", "times": 2}`, faults); !strings.Contains(got, `"id":1,"count":0`) {
		t.Errorf("the rule: %s", got)
	}
	if got := curl("-d", `{"api": "Produce", "error": "NO_LEADER"}`, faults); !strings.Contains(got, `"NO_LEADER\" is no error of Kafka's`) {
		t.Errorf("a wrong rule: %s", got)
	}
	client.produce(t, addr, "words", []string{"a", "b", "c"})
	if got := client.consume(t, addr, "words", 3); strings.Join(got, " ") != "a b c" {
		t.Errorf("read %q", got)
	}
	if got := curl(faults); !strings.Contains(got, `"id":1,"count":2`) {
		t.Errorf("rules after it: %s", got)
	}
	metrics := curl("http://"+monitor+"/metrics") + "\n" // curl trimmed the end
	for _, want := range []string{
		`kafka_server_brokertopicmetrics_messagesin_total{topic="words"} 3`, `kafka_log_log_logendoffset{partition="0",topic="words"} 3`,
		`kafka_topic_partitions{topic="words"} 2`, `kafka_server_kafkaserver_brokerstate 3`, `kafka_broker_info{address="` + addr + `",id="1"} 1`,
	} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("the metrics have no %s", want)
		}
	}
	p.Stop(t)
	if out := p.Output(); !strings.Contains(out, "can make this broker misbehave") {
		t.Errorf("no warning of the control port in\n%s", out)
	}
}
