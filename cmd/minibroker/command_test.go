package main

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelp: every command says what it does, and shows how; what an example shows can be parsed.
func TestHelp(t *testing.T) {
	root := newCommand(io.Discard, io.Discard)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s has no description", cmd.CommandPath())
		}
		simple := !cmd.HasSubCommands() && cmd.HasParent() && cmd.Parent().HasParent() || cmd.Name() == "version" || cmd.Name() == "random-uuid"
		if cmd.Example == "" && !simple {
			t.Errorf("%s shows no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			checkExample(t, cmd, line)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// checkExample parses the flags of an example.
func checkExample(t *testing.T, cmd *cobra.Command, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	_, call, ok := strings.Cut(line, "minibroker ")
	if !ok || strings.HasPrefix(strings.TrimSpace(line), "#") || strings.Contains(line, `\`) {
		return
	}
	call, _, _ = strings.Cut(call, " |")
	call, _, _ = strings.Cut(call, " &&")
	call, _, _ = strings.Cut(call, " <")
	call = strings.NewReplacer(`"$(mktemp -d)"`, "d", "'", "").Replace(call)
	found, rest, err := newCommand(io.Discard, io.Discard).Find(strings.Fields(call))
	if err == nil {
		err = found.ParseFlags(rest)
	}
	if err != nil {
		t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
	}
}

// TestCompletion: the scripts of the shells are there, and those of shells that are installed can be read by them.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := succeed(t, "completion", shell)
		if !strings.Contains(script, "minibroker") {
			t.Errorf("%s: %.80q", shell, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // this shell is not here; its script is cobra's own
		}
		cmd := exec.CommandContext(t.Context(), path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	out := succeed(t, "__complete", "dump", "--decoder", "")
	for _, want := range []string{"auto\n", "share-state\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q among the completions: %s", want, out)
		}
	}
}
