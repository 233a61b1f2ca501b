package integration

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// adminInPython runs a round of testdata/python.
func adminInPython(script string) adminCommand {
	return func(t *testing.T, args ...string) *exec.Cmd {
		return exec.Command(python(t), append([]string{filepath.Join("testdata", "python", script)}, args...)...)
	}
}

// TestAdminClientOfLibrdkafka is a round through librdkafka's admin client, by way of confluent-kafka for Python.
func TestAdminClientOfLibrdkafka(t *testing.T) {
	runAdminRound(t, "confluent-kafka", adminInPython("admin_confluent.py"))
}

// TestAdminClientOfKafkaPython is a round through kafka-python's admin client.
func TestAdminClientOfKafkaPython(t *testing.T) {
	runAdminRound(t, "kafka-python", adminInPython("admin_kafka.py"))
}
