package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// kafkaVersion is the release that minibroker is compared with.
const kafkaVersion = "4.4.0"

// javaTimeout bounds one run of a Java program.
const javaTimeout = 3 * time.Minute

// javaThere tells whether Kafka's tools can run. Under CI=true they must, so that a missing one fails where it is used.
func javaThere() bool {
	_, noJava := exec.LookPath("java")
	_, noMaven := exec.LookPath("mvn")
	return os.Getenv("CI") == "true" || noJava == nil && noMaven == nil
}

// kafkaLibs is the folder of Kafka's jars, fetched from Maven Central once and kept in the user's cache. Where Java or
// Maven is missing the test is skipped; under CI=true it fails instead.
func kafkaLibs(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			skipOrFail(t, "needs "+tool+" in PATH to run Apache Kafka's own tools (Java 17 or newer, and Maven)")
		}
	}
	if home := os.Getenv("KAFKA_HOME"); home != "" {
		return filepath.Join(home, "libs")
	}
	libs, err := fetchedLibs()
	if err != nil {
		t.Fatal(err)
	}
	return libs
}

// frameworkLibs is the folder of the jars that Kafka Streams and Connect need beside kafkaLibs.
func frameworkLibs(t *testing.T) string {
	t.Helper()
	kafkaLibs(t) // looks for the tools
	libs, err := fetchedFrameworks()
	if err != nil {
		t.Fatal(err)
	}
	return libs
}

// fetchedLibs fetches the jars once, whichever test asks first.
var fetchedLibs = sync.OnceValues(func() (string, error) { return fetchLibs("pom.xml", "libs") })

// fetchedFrameworks does so for Streams and Connect: 75 MB, most of them RocksDB.
var fetchedFrameworks = sync.OnceValues(func() (string, error) { return fetchLibs("frameworks.xml", "frameworks") })

// fetchLibs fetches what a project file of testdata/kafka depends on into a folder of the user's cache.
func fetchLibs(project, folder string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	libs := filepath.Join(cache, "minibroker", "kafka-"+kafkaVersion, folder)
	done := filepath.Join(libs, ".complete")
	if _, err := os.Stat(done); err == nil {
		return libs, nil
	}
	pom, err := os.ReadFile(filepath.Join("testdata", "kafka", project))
	if err != nil {
		return "", err
	}
	// Maven writes beside the project file, so it gets one of its own.
	work, err := os.MkdirTemp("", "minibroker-kafka-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), pom, 0o644); err != nil {
		return "", err
	}
	mvn := exec.Command("mvn", "-q", "-B", "-f", filepath.Join(work, "pom.xml"), "dependency:copy-dependencies",
		"-DoutputDirectory="+libs, "-DincludeScope=runtime")
	if out, err := mvn.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch Apache Kafka %s with Maven: %w\n%s", kafkaVersion, err, out)
	}
	return libs, os.WriteFile(done, nil, 0o644)
}

// skipOrFail skips a test whose tool is missing, but fails it under CI, where nothing may be missing.
func skipOrFail(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip("SKIPPED: " + why)
}

// java runs a class of Kafka's (or a source file of testdata/java) and returns its standard output.
func java(t *testing.T, stdin string, classAndArgs ...string) string {
	t.Helper()
	libs := kafkaLibs(t)
	ctx, cancel := context.WithTimeout(t.Context(), javaTimeout)
	defer cancel()
	args := []string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + filepath.Join("testdata", "kafka", "log4j2.yaml"),
		"-cp", filepath.Join(libs, "*")}
	cmd := exec.CommandContext(ctx, "java", append(args, classAndArgs...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("java %s: %v\n%s\n%s", strings.Join(classAndArgs, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// compiled compiles a source file of testdata/java and returns the folder of its classes. It spares programs that are started
// again and again the time that "java File.java" takes.
func compiled(t *testing.T, name string) string {
	t.Helper()
	classes := t.TempDir()
	out, err := exec.Command("javac", "-d", classes, "-cp", filepath.Join(kafkaLibs(t), "*")+string(filepath.ListSeparator)+filepath.Join(frameworkLibs(t), "*"),
		filepath.Join("testdata", "java", name+".java")).CombinedOutput()
	if err != nil {
		t.Fatalf("javac %s: %v\n%s", name, err, out)
	}
	return classes
}

// javaCommand runs a class that compiled made, or one of Kafka's frameworks.
func javaCommand(t *testing.T, classes string, classAndArgs ...string) *exec.Cmd {
	t.Helper()
	path := []string{classes, filepath.Join(kafkaLibs(t), "*"), filepath.Join(frameworkLibs(t), "*")}
	return exec.Command("java", append([]string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + filepath.Join("testdata", "kafka", "log4j2.yaml"),
		"-cp", strings.Join(path, string(filepath.ListSeparator))}, classAndArgs...)...)
}

// dumpLog runs kafka-dump-log over every segment, index, time index and snapshot below dir and reports what it finds
// wrong.
func dumpLog(t *testing.T, dir string) {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.log", "*.index", "*.timeindex", "*.snapshot", "*.txnindex"} {
		found, err := filepath.Glob(filepath.Join(dir, "*", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no files in %s", dir)
	}
	out := java(t, "", "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", strings.Join(files, ","))
	for _, complaint := range complaints(out) {
		t.Errorf("kafka-dump-log: %s", complaint)
	}
	t.Logf("kafka-dump-log: %d files read", len(files))
}

// complaints picks the lines in which kafka-dump-log reports damage. "-1 is followed by N" is not one: it says so of
// every file that does not begin at offset 0.
func complaints(out string) []string {
	var bad []string
	for line := range strings.Lines(out) {
		for _, word := range []string{"isvalid: false", "Mismatches", "Index offset:", "not a valid", "corrupt", "invalid bytes",
			"out of order", "Exception", "does not match", "Found timestamp mismatch"} {
			if strings.Contains(line, word) {
				bad = append(bad, strings.TrimSpace(line))
				break
			}
		}
	}
	return bad
}
