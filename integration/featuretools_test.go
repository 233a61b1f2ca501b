package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFeatureTools runs kafka-features.sh and kafka-metadata-quorum.sh on clusters that were formatted in three ways: with the
// newest levels, with those of an old release, which is then upgraded, and with a dynamic quorum of one. With recordToolsEnv it
// runs them against Apache Kafka and records what they print.
func TestFeatureTools(t *testing.T) {
	kafkaLibs(t)
	for name, format := range map[string][]string{
		"features": nil, "features-3.9": {"--release-version", "3.9"}, "features-standalone": {"--standalone"},
	} {
		t.Run(name, func(t *testing.T) {
			root, addr, controller := t.TempDir(), freeAddr(t), freeAddr(t)
			file := formatFor(t, root, addr, controller, format)
			runs := readToolRuns(t, name+".txt")
			if os.Getenv(recordToolsEnv) != "" {
				recordTools(t, name, runs, file, addr, root)
				return
			}
			p := startArgs(t, filepath.Join(root, "data"), addr, []string{file})
			compareTools(t, runs, runTools(t, runs, addr, root), root, filepath.Join(root, "data"))
			p.Stop(t)
		})
	}
}

// formatFor writes a properties file for these addresses, formats its log dir, and returns the name of the file.
func formatFor(t *testing.T, root, addr, controller string, args []string) string {
	t.Helper()
	props := kafkaProperties([]string{filepath.Join(root, "data")}, addr, controller)
	if len(args) > 0 && args[0] == "--standalone" {
		props = append(props, "controller.quorum.voters=", "controller.quorum.bootstrap.servers="+controller)
	}
	file := filepath.Join(root, "server.properties")
	if err := os.WriteFile(file, []byte(strings.Join(props, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := runFormat(t, append([]string{"format", "-t", formatCluster, "-c", file}, args...)); code != 0 {
		t.Fatal(said)
	}
	return file
}

// recordTools writes what the tools print against Kafka into the recording.
func recordTools(t *testing.T, name string, runs []toolRun, file, addr, root string) {
	t.Helper()
	p := startKafkaWith(t, file, filepath.Join(root, "data"), addr)
	var text strings.Builder
	for n, printed := range runTools(t, runs, addr, root) {
		text.WriteString("#### " + runs[n].command + "\n" + withoutNoise(printed, root, filepath.Join(root, "data")))
	}
	p.end(t)
	if err := os.WriteFile(filepath.Join("testdata", "tools", name+".txt"), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
