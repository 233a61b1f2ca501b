package integration

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// containerToolRuns are runs of the tools that stand in the compatible image: class of Kafka's, tool of ours,
// arguments. NAME is a topic or group that each side has for itself.
var containerToolRuns = []string{
	"TopicCommand|kafka-topics|--create|--topic|NAME|--partitions|3|--replication-factor|1|--config|retention.ms=1000",
	"TopicCommand|kafka-topics|--create|--topic|NAME|--if-not-exists",
	"TopicCommand|kafka-topics|--create|--topic|NAME",
	"TopicCommand|kafka-topics|--create|--topic|NAME.x_y|--replication-factor|3",
	"TopicCommand|kafka-topics|--create|--topic|NAME!",
	"TopicCommand|kafka-topics|--create|--topic|NAME2|--config|no.such=1",
	"TopicCommand|kafka-topics|--create|--topic|NAME3|--replica-assignment|1,1",
	"TopicCommand|kafka-topics|--describe|--topic|NAME",
	"TopicCommand|kafka-topics|--describe|--topic|NAME|--topics-with-overrides",
	"TopicCommand|kafka-topics|--describe|--topic|NAME|--under-replicated-partitions",
	"TopicCommand|kafka-topics|--describe|--topic|NAME|--at-min-isr-partitions",
	"TopicCommand|kafka-topics|--describe|--topic|NAME|--under-min-isr-partitions",
	"TopicCommand|kafka-topics|--describe|--topic|NAME|--unavailable-partitions",
	"TopicCommand|kafka-topics|--describe|--topic|absent",
	"TopicCommand|kafka-topics|--alter|--topic|NAME|--partitions|4",
	"TopicCommand|kafka-topics|--alter|--topic|NAME|--partitions|2",
	"TopicCommand|kafka-topics|--list|--topic|NAME.*",
	"ConfigCommand|kafka-configs|--alter|--entity-type|topics|--entity-name|NAME|--add-config|retention.ms=5000,cleanup.policy=[compact,delete]",
	"ConfigCommand|kafka-configs|--describe|--entity-type|topics|--entity-name|NAME",
	"ConfigCommand|kafka-configs|--describe|--topic|NAME|--all",
	"ConfigCommand|kafka-configs|--alter|--entity-type|topics|--entity-name|NAME|--delete-config|retention.ms",
	"ConfigCommand|kafka-configs|--alter|--entity-type|topics|--entity-name|NAME|--add-config|no.such=1",
	"ConfigCommand|kafka-configs|--describe|--entity-type|brokers|--entity-default",
	"GetOffsetShell|kafka-get-offsets|--topic|NAME",
	"GetOffsetShell|kafka-get-offsets|--topic|NAME|--time|earliest|--partitions|0,2",
	"GetOffsetShell|kafka-get-offsets|--topic|NAME|--time|max-timestamp",
	"GetOffsetShell|kafka-get-offsets|--topic|absent",
	"consumer.ConsoleConsumer|kafka-console-consumer|--topic|filled|--from-beginning|--group|NAME|--max-messages|3",
	"consumer.ConsoleConsumer|kafka-console-consumer|--topic|filled|--partition|0|--offset|1|--max-messages|2|--formatter-property|print.key=true|--formatter-property|print.offset=true|--formatter-property|print.partition=true|--formatter-property|print.headers=true",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--describe|--group|NAME",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--describe|--group|NAME|--state",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--reset-offsets|--group|NAME|--topic|filled|--to-earliest|--dry-run",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--reset-offsets|--group|NAME|--topic|filled:0|--shift-by|-1|--execute",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--delete-offsets|--group|NAME|--topic|filled:0",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--delete|--group|NAME",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--list",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--list|--state",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--describe|--group|absent",
	"consumer.group.ConsumerGroupCommand|kafka-consumer-groups|--delete|--group|absent",
	"ClusterTool|kafka-cluster|cluster-id",
	"TopicCommand|kafka-topics|--delete|--topic|NAME",
	"TopicCommand|kafka-topics|--delete|--topic|absent",
}

var containerNoise = regexp.MustCompile(`TopicId: \S+`)

// TestContainerTools runs the tools of the compatible image and Kafka's own against one broker: the same standard
// output and exit code.
func TestContainerTools(t *testing.T) {
	kafkaLibs(t) // skips before a broker is started
	binary := filepath.Join(t.TempDir(), "kafkatools")
	if out, err := exec.Command("go", "build", "-o", binary, "minibroker/cmd/kafkatools").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	p := startProcess(t, t.TempDir(), freeAddr(t), nil)
	fill := exec.Command(binary, "kafka-console-producer", "--bootstrap-server", p.Addr, "--topic", "filled",
		"--reader-property", "parse.key=true", "--reader-property", "parse.headers=true", "--reader-property", "null.marker=NULL")
	fill.Stdin = strings.NewReader("h:1,i:2\tkey\tone\nh:3\tkey\ttwo\nh:4\tNULL\tthree\n")
	if out, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("kafka-console-producer: %v\n%s", err, out)
	}
	var commands strings.Builder
	for _, run := range containerToolRuns {
		class, rest, _ := strings.Cut(run, "|")
		_, args, _ := strings.Cut(rest, "|")
		commands.WriteString(toolLine(class+"|"+strings.ReplaceAll(args, "NAME", "kkkk"), p.Addr, ""))
	}
	theirs := strings.Split(java(t, commands.String(), filepath.Join("testdata", "java", "Tools.java")), ">>> ")[1:]
	if len(theirs) != len(containerToolRuns) {
		t.Fatalf("%d tools ran, %d were asked for", len(theirs), len(containerToolRuns))
	}
	equal := 0
	for n, run := range containerToolRuns {
		words := strings.Split(strings.ReplaceAll(run, "NAME", "mmmm"), "|")[1:]
		want, complaint, _ := strings.Cut(theirs[n], "--- stderr\n")
		got, errors := runTool(binary, append(words, "--bootstrap-server", p.Addr)...)
		want = containerNoise.ReplaceAllString(strings.ReplaceAll(want, "kkkk", "NAME"), "TOPICID")
		got = containerNoise.ReplaceAllString(strings.ReplaceAll(got, "mmmm", "NAME"), "TOPICID")
		if got != want {
			t.Errorf("%s\nprinted:\n%s--- stderr\n%sKafka's printed:\n%s--- stderr\n%s", run, got, errors, want, complaint)
			continue
		}
		equal++
	}
	t.Logf("%d of %d runs equal", equal, len(containerToolRuns))
	p.Stop(t)
}

// runTool runs one tool; out is "exit CODE" and its standard output.
func runTool(binary string, words ...string) (out, errors string) {
	cmd := exec.Command(binary, words...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	code := cmd.ProcessState.ExitCode()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		return err.Error(), ""
	}
	return fmt.Sprintf("exit %d\n%s", code, stdout.String()), stderr.String()
}
