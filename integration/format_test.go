package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	formatCluster = "5L6g3nShT-eMCtK--X86sw"
	otherCluster  = "7W8qOgAKl6fsmwDKpmfqSA"
)

// formatRun is one run of kafka-storage.sh format, and of minibroker format with the same arguments.
type formatRun struct {
	dirs string // names of log dirs with commas, each run has its own unless it shall find what another one left
	kind string // "": voters by configuration; "dynamic": none; "metadata.log.dir": the log in a dir of its own, named meta-NAME
	args []string
}

// formatRuns covers each option, each refusal and each state of a directory. Levels of releases are compared by TestReleaseLevels.
func formatRuns() []formatRun {
	in := func(dirs string, args ...string) formatRun { return formatRun{dirs: dirs, args: args} }
	dynamic := func(dirs string, args ...string) formatRun { return formatRun{dirs, "dynamic", args} }
	scram := func(dirs, argument string) formatRun { return in(dirs, "--add-scram", argument) }
	return []formatRun{
		in("a"), in("a"), in("a", "--ignore-formatted"), in("a", "-g", "-t", otherCluster),
		in("b,c"), in("b,c,d", "-g"), {"e,f", "metadata.log.dir", nil},
		dynamic("g"), dynamic("g", "--standalone"), dynamic("h", "--no-initial-controllers"),
		dynamic("i", "--initial-controllers", "1@127.0.0.1:9093:"+otherCluster),
		dynamic("j", "-I", "2@[::1]:9093:"+otherCluster+",3@host:9094:"+formatCluster),
		in("k", "-s"), in("k", "-I", "1@127.0.0.1:9093:"+otherCluster), in("k", "-N"),
		dynamic("l", "-I", "nonsense"), dynamic("l", "-I", "1@h"), dynamic("l", "-I", "1@h:1"), dynamic("l", "-I", "x@h:1:"+otherCluster),
		dynamic("l", "-I", "1@h:x:"+otherCluster), dynamic("l", "-I", "1@h:99999:"+otherCluster), dynamic("l", "-I", "1@h:1:short"),
		dynamic("l", "-I", "1@h:1:"+otherCluster+",1@h:2:"+formatCluster), dynamic("l", "-I", "1@[h:1"), dynamic("l", "-I", ","),
		in("m", "-r", "3.2"), in("m", "-r", "4"), in("m", "-r", "3.9-IV0.1"), dynamic("n", "-s", "-r", "3.8"),
		in("o", "-f", "group.version=0", "-f", "transaction.version=1", "-f", "share.version=0"), in("p", "-f", "metadata.version=20"),
		in("q", "-f", "nosuch.version=1"), in("q", "-f", "group.version=7"), in("q", "-f", "group.version"), in("q", "-f", "group.version=x"),
		in("q", "-f", "group.version = 0", "-f", "group.version=1"), in("r", "-r", "4.0", "-f", "metadata.version=20"),
		in("r", "-f", "kraft.version=1"), dynamic("r", "-s", "-f", "kraft.version=0"), dynamic("r", "-s", "-f", "kraft.version=1"),
		in("s", "-r", "3.9", "-f", "eligible.leader.replicas.version=1"), in("s", "-r", "3.9", "-f", "transaction.version=2"),
		scram("t", `SCRAM-SHA-256=[name=alice,password=alice-secret,salt="MXJ2OHk="]`),
		scram("u", `SCRAM-SHA-512=[name=bob,iterations=8192,salt="N3E=",saltedpassword="YCE="]`),
		in("v", "-r", "3.4", "-S", "SCRAM-SHA-256=[name=a,password=b]"), scram("v", "nonsense"), scram("v", "SCRAM-SHA-256=[name=alice]"),
		scram("v", "SCRAM-SHA-1=[name=a,password=b]"), scram("v", "SCRAM-SHA-256=name=a"), scram("v", "SCRAM-SHA-256=[name=a"),
		scram("v", "SCRAM-SHA-256=[password=b]"), scram("v", "SCRAM-SHA-256=[name=a,password=b,iterations=10]"),
		scram("v", "SCRAM-SHA-512=[name=a,password=b,iterations=20000]"), scram("v", "SCRAM-SHA-256=[name=a,password=b,iterations=q]"),
		scram("v", "SCRAM-SHA-256=[name=a,saltedpassword=YCE=]"), scram("v", "SCRAM-SHA-256=[name=a,password=b,foo=bar]"),
		scram("v", "SCRAM-SHA-256=[name=a,password]"), scram("v", "SCRAM-SHA-256=[name=a,salt=!!,saltedpassword=YCE=]"),
		in("FILE"), in("a", "-t", "another"),
	}
}

// arguments are those of the run with its properties file, which is written below root.
func (r formatRun) arguments(t *testing.T, root string, number int) []string {
	t.Helper()
	var dirs []string
	for name := range strings.SplitSeq(r.dirs, ",") {
		dirs = append(dirs, filepath.Join(root, name))
	}
	props := []string{
		"process.roles=broker,controller", "node.id=1", "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
		"controller.listener.names=CONTROLLER", "log.dirs=" + strings.Join(dirs, ","),
	}
	if r.kind == "dynamic" {
		props = append(props, "controller.quorum.bootstrap.servers=127.0.0.1:9093")
	} else {
		props = append(props, "controller.quorum.voters=1@127.0.0.1:9093")
	}
	if r.kind == "metadata.log.dir" {
		props = append(props, "metadata.log.dir="+filepath.Join(root, "meta-"+strings.ReplaceAll(r.dirs, ",", "-")))
	}
	file := filepath.Join(root, fmt.Sprintf("%d.properties", number))
	if err := os.WriteFile(file, []byte(strings.Join(props, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"format", "-c", file}, r.args...)
	if !slices.Contains(r.args, "-t") {
		args = append(args, "-t", formatCluster)
	}
	return args
}

// TestFormat formats directories with kafka-storage.sh and with minibroker: both say the same, end with the same code and
// leave the same files, which Kafka's info and its decoder of the metadata log read alike.
func TestFormat(t *testing.T) {
	kafkaLibs(t)
	theirs, ours := t.TempDir(), t.TempDir()
	for _, root := range []string{theirs, ours} {
		if err := os.WriteFile(filepath.Join(root, "FILE"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runs := formatRuns()
	var lines strings.Builder
	tool := func(args ...string) { fmt.Fprintln(&lines, "kafka.tools.StorageTool\t"+strings.Join(args, "\t")) }
	said := make([]string, len(runs))
	var infos []int // runs that left something
	for n, r := range runs {
		tool(r.arguments(t, theirs, n)...)
		var code int
		said[n], code = runFormat(t, r.arguments(t, ours, n))
		if code == 0 {
			infos = append(infos, n)
		}
	}
	for _, root := range []string{theirs, ours} {
		for _, n := range infos {
			tool("info", "-c", filepath.Join(root, fmt.Sprintf("%d.properties", n)))
		}
		fmt.Fprintln(&lines, "org.apache.kafka.tools.DumpLogSegments\t--cluster-metadata-decoder\t--files\t"+strings.Join(checkpoints(t, ours, root), ","))
	}
	used := usedProperties(t)
	tool("info", "-c", used)
	tool("format", "-c", used, "-t", formatCluster, "-g")
	printed := strings.Split(java(t, lines.String(), filepath.Join("testdata", "java", "Tools.java")), ">>> ")[1:]
	if want := len(runs) + 2*len(infos) + 2 + 2; len(printed) != want {
		t.Fatalf("%d tools ran, want %d", len(printed), want)
	}
	for n, r := range runs {
		compareFormat(t, fmt.Sprintf("%s of %s %s", strings.Join(r.args, " "), r.kind, r.dirs), formatted(printed[n], theirs), formatted(said[n], ours))
	}
	end := len(printed) - 2
	if info := printed[end]; !strings.HasPrefix(info, "exit 0\nFound log directories:\n") || strings.Contains(info, "problem") {
		t.Errorf("info of directories that minibroker used: %s", info)
	}
	if again := printed[end+1]; !strings.HasPrefix(again, "exit 0\nAll of the log directories are already formatted.\n") {
		t.Errorf("format of directories that minibroker used: %s", again)
	}
	after := printed[len(runs):end]
	for n := range len(after) / 2 {
		compareFormat(t, "what Kafka reads", formatted(after[n], theirs), formatted(after[len(after)/2+n], ours))
	}
	compareStates(t, "files", fileNames(t, theirs), fileNames(t, ours))
	t.Logf("%d runs, %d infos, %d checkpoints compared", len(runs), len(infos), len(checkpoints(t, ours, ours)))
}

// usedProperties names a properties file of directories that minibroker formatted at its start and used: two log dirs, and one
// for the metadata log.
func usedProperties(t *testing.T) string {
	t.Helper()
	root, addr := t.TempDir(), freeAddr(t)
	props := kafkaProperties([]string{filepath.Join(root, "a"), filepath.Join(root, "b")}, addr, freeAddr(t))
	props = append(props, "metadata.log.dir="+filepath.Join(root, "meta"))
	file := filepath.Join(root, "server.properties")
	if err := os.WriteFile(file, []byte(strings.Join(props, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLUSTER_ID", formatCluster)
	p := startArgs(t, filepath.Join(root, "a"), addr, []string{file})
	p.StopDirs(t, []string{filepath.Join(root, "a"), filepath.Join(root, "b")})
	return file
}

// runFormat runs minibroker format and words the result as Tools.java does.
func runFormat(t *testing.T, args []string) (said string, code int) {
	t.Helper()
	var out, complaints strings.Builder
	cmd := exec.Command(os.Getenv(brokerBinaryEnv), args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code = cmd.ProcessState.ExitCode()
	return fmt.Sprintf("exit %d\n%s--- stderr\n%s", code, out.String(), complaints.String()), code
}

// formatted takes out what differs: names of exceptions, places, times, ids made up, checksums, and the order of directories,
// which Kafka's tool goes through in the order of a hash table.
func formatted(said, root string) string {
	said = strings.ReplaceAll(said, root, "ROOT")
	for _, noise := range []struct{ pattern, instead string }{
		{`(?m)^\s+at .*\n`, ""},
		{`Exception in thread "main" [\w.]+: |minibroker: `, ""},
		{`CreateTime: \d+|crc: \d+|"lastContainedLogTimestamp":\d+`, "*"},
		{`directory\.id=[\w-]{22}|"voterDirectoryId":"[\w-]{22}"`, "DIRECTORY"},
		{`, ApiMessageAndVersion\(UserScram.*? at version 0\)`, ""},
	} {
		said = regexp.MustCompile(noise.pattern).ReplaceAllString(said, noise.instead)
	}
	if strings.Contains(said, "Formatting ") {
		lines := strings.Split(said, "\n")
		slices.Sort(lines)
		said = strings.Join(lines, "\n")
	}
	return said
}

// checkpoints are those that exist in one tree, named as in another.
func checkpoints(t *testing.T, tree, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tree, "*", "__cluster_metadata-0", "*.checkpoint"))
	if err != nil || len(files) == 0 {
		t.Fatalf("checkpoints %v, %v", files, err)
	}
	for i, f := range files {
		files[i] = root + strings.TrimPrefix(f, tree)
	}
	return files
}

// fileNames lists all files below root with their modes and sizes.
func fileNames(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".properties") && filepath.Dir(path) == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if d.IsDir() {
			size = 0
		}
		names = append(names, fmt.Sprintf("%s %s %d", strings.TrimPrefix(path, root), info.Mode(), size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names[1:] // the root itself
}

func compareFormat(t *testing.T, what, kafka, minibroker string) {
	t.Helper()
	theirs, ours := strings.Split(kafka, "\n"), strings.Split(minibroker, "\n")
	for n := range max(len(theirs), len(ours)) {
		if n >= len(theirs) || n >= len(ours) || theirs[n] != ours[n] {
			t.Errorf("%s: from line %d on Kafka\n%q\nminibroker\n%q", what, n+1, theirs[min(n, len(theirs)):], ours[min(n, len(ours)):])
			return
		}
	}
}
