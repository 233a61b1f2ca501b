package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// peer is a broker that is measured.
type peer struct {
	name    string
	own     bool // minibroker, of this tree or an older one
	layout  bool // keeps Kafka's files
	durable bool // keeps its state over a restart
	prepare func(i *instance) *exec.Cmd
	command func(i *instance) *exec.Cmd
	lacks   map[string]string // case → why it is not measured
}

// peerNames are all that a report can hold, in its order.
var peerNames = []string{"Kafka", "kfake-memory", "kfake-disk", "klite", "minibroker"}

// finder gets the programs of the peers.
type finder struct {
	bin  string            // holds what is built
	root string            // of the repository
	give map[string]string // name → program, instead of building one
}

// peers gives those that are asked for and can be had here, and says of the others why not. Names beyond peerNames are
// further builds of minibroker.
func (f *finder) peers(ctx context.Context, names []string) (found []*peer, missing []string, err error) {
	for _, name := range names {
		p, err := f.peer(ctx, name)
		switch {
		case err == nil:
			found = append(found, p)
		case name == "minibroker" || ctx.Err() != nil:
			return nil, nil, err
		default:
			missing = append(missing, fmt.Sprintf("%s: %v", name, err))
		}
	}
	return found, missing, nil
}

func (f *finder) peer(ctx context.Context, name string) (*peer, error) {
	switch name {
	case "Kafka":
		return f.kafka()
	case "kfake-memory", "kfake-disk":
		program, err := f.program(ctx, "kfake", []string{"build", "-C", filepath.Join(f.root, "bench", "kfake"), "-o", filepath.Join(f.bin, "kfake"), "."})
		return kfake(name, program), err
	case "klite":
		program, err := f.program(ctx, "klite", []string{"install", "github.com/klaudworks/klite/cmd/klite@latest"})
		return klite(program), err
	}
	program, err := f.program(ctx, name, []string{"build", "-C", f.root, "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(f.bin, name), "./cmd/minibroker"})
	return minibroker(name, program), err
}

// program is the one that was given, the one of an environment variable of that name, or the one that the go command makes.
func (f *finder) program(ctx context.Context, name string, goArgs []string) (string, error) {
	if given := f.give[name]; given != "" {
		return filepath.Abs(given)
	}
	if given := os.Getenv(strings.ToUpper(name)); given != "" {
		return filepath.Abs(given)
	}
	path := filepath.Join(f.bin, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.CommandContext(ctx, "go", goArgs...)
	cmd.Env = append(os.Environ(), "GOBIN="+f.bin, "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(goArgs, " "), err, lastLine(out))
	}
	return path, nil
}

// kafka is Apache Kafka as its own script starts it. Its heap may grow as far as that script lets it by default, but begins small.
func (f *finder) kafka() (*peer, error) {
	home := os.Getenv("KAFKA_HOME")
	script := func(name string) string { return filepath.Join(home, "bin", name) }
	if home == "" {
		return nil, fmt.Errorf("KAFKA_HOME does not name its directory")
	}
	if _, err := os.Stat(script("kafka-server-start.sh")); err != nil {
		return nil, err
	}
	with := func(i *instance, cmd *exec.Cmd) *exec.Cmd {
		cmd.Env = append(os.Environ(), "KAFKA_HEAP_OPTS=-Xmx1G", "LOG_DIR="+i.dir)
		return cmd
	}
	return &peer{
		name: "Kafka", layout: true, durable: true,
		prepare: func(i *instance) *exec.Cmd {
			return with(i, exec.Command(script("kafka-storage.sh"), "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", i.properties()))
		},
		command: func(i *instance) *exec.Cmd {
			return with(i, exec.Command(script("kafka-server-start.sh"), i.properties()))
		},
	}, nil
}

func minibroker(name, program string) *peer {
	return &peer{
		name: name, own: true, layout: true, durable: true,
		command: func(i *instance) *exec.Cmd {
			args := []string{i.properties()}
			if i.http != "" {
				args = append(args, "--http", i.http)
			}
			return exec.Command(program, args...)
		},
	}
}

func kfake(name, program string) *peer {
	durable := name == "kfake-disk"
	p := &peer{name: name, durable: durable, lacks: map[string]string{}}
	p.command = func(i *instance) *exec.Cmd {
		args := []string{"-port", strconv.Itoa(i.port)}
		if durable {
			args = append(args, "-data", i.data())
		}
		return exec.Command(program, args...)
	}
	if !durable {
		p.lacks["restart"] = "keeps nothing over a restart"
	}
	return p
}

func klite(program string) *peer {
	return &peer{
		name: "klite", durable: true,
		lacks: map[string]string{
			"compaction":           "compacts only what it has moved to S3",
			"groups, new protocol": "has no such groups",
		},
		command: func(i *instance) *exec.Cmd {
			return exec.Command(program, "--listen", i.addr(), "--advertised-addr", i.addr(), "--data-dir", i.data(), "--auto-create-topics",
				"--wal-max-disk-size", strconv.Itoa(16<<30), "--log-level", "error")
		},
	}
}

// choose takes names that are separated by commas, without regard to case; an empty list is all.
func choose(list string) []string {
	if list == "" {
		return slices.Clone(peerNames)
	}
	var names []string
	for _, n := range strings.Split(list, ",") {
		if at := slices.IndexFunc(peerNames, func(p string) bool { return strings.EqualFold(p, n) }); at >= 0 {
			n = peerNames[at]
		}
		names = append(names, n)
	}
	return names
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1][:min(300, len(lines[len(lines)-1]))]
}
