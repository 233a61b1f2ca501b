package integration

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAdminClientOfJava is a round through Apache Kafka's own AdminClient.
func TestAdminClientOfJava(t *testing.T) {
	runAdminRound(t, "java", func(t *testing.T, args ...string) *exec.Cmd {
		return exec.Command("java", append([]string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + filepath.Join("testdata", "kafka", "log4j2.yaml"),
			"-cp", filepath.Join(kafkaLibs(t), "*"), filepath.Join("testdata", "java", "Admin.java")}, args...)...)
	})
}
