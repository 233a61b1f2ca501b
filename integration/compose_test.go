//go:build images

package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestComposeFiles starts the compose files that people write for Kafka's images with the compatible image in their
// place, waits for every service, and produces and consumes through the port on the host.
func TestComposeFiles(t *testing.T) {
	image := compatImage(t)
	files, err := filepath.Glob(filepath.Join("testdata", "compose", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no compose files: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yml")
		t.Run(name, func(t *testing.T) { tryCompose(t, file, name, image) })
	}
}

func tryCompose(t *testing.T, file, name, image string) {
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	project := "minibrokertest-" + name
	compose := func(args ...string) ([]byte, error) {
		cmd := exec.Command("docker-compose", append([]string{"-p", project, "-f", file}, args...)...)
		cmd.Env = append(os.Environ(), "IMAGE="+image, "PORT="+port, "NAME="+project)
		return cmd.CombinedOutput()
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := compose("logs", "--no-color")
			t.Logf("%s", log)
		}
		compose("down", "-v", "-t", "5")
	})
	if out, err := compose("up", "-d"); err != nil {
		t.Fatalf("docker-compose up: %v\n%s", err, out)
	}
	if !await(patience, func() bool {
		log, _ := compose("logs", "--no-color")
		return strings.Contains(string(log), "Kafka Server started") || name == "authorizer-and-ready" // which logs warnings alone
	}) {
		t.Fatal("the broker is not ready")
	}
	for _, job := range map[string][]string{"healthcheck-and-init": {"kafka-init"}, "authorizer-and-ready": {"wait"}}[name] {
		id := docker(t, "ps", "-aq", "--filter", "name="+project, "--filter", "label=com.docker.compose.service="+job)
		if code := docker(t, "wait", id); code != "0" {
			t.Fatalf("service %s ended with %s", job, code)
		}
	}
	if name == "wurstmeister-create-topics" {
		if got := partitionsOf(t, addr); got["orders"] != 4 || got["events"] != 1 {
			t.Errorf("partitions %v: want 4 of orders and 1 of events", got)
		}
	}
	produceAndConsume(t, addr)
}

// partitionsOf counts the partitions of each topic.
func partitionsOf(t *testing.T, addr string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, topic := range topicsOf(t, newClient(t, addr)) {
		counts[*topic.Topic] = len(topic.Partitions)
	}
	return counts
}
