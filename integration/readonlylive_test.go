package integration

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestReadOnlyOfALiveBroker: a directory that somebody writes to is shown, with a warning that names the process; the lock of
// the other one stays what it was.
func TestReadOnlyOfALiveBroker(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	live := startProcess(t, data, freeAddr(t), nil)
	cl := newClient(t, live.Addr)
	if code, message := newTopic(t, cl, "shown", 1); code != 0 {
		t.Fatalf("error %d, %s", code, message)
	}
	const text = "is in use by process "
	for range 2 { // the first look must not have released the lock
		addr := freeAddr(t)
		shown := startArgs(t, data, addr, []string{"--read-only", data, "--listen", addr})
		if want := text + strconv.Itoa(live.cmd.Process.Pid); !strings.Contains(shown.Output(), want) {
			t.Errorf("no warning %q in:\n%s", want, shown.Output())
		}
		if topics := topicsOf(t, newClient(t, addr)); len(topics) != 1 || *topics[0].Topic != "shown" {
			t.Errorf("shown: %v", topics)
		}
		shown.end(t)
		if out := refusedStart(t, "--data-dir", data, "--listen", freeAddr(t)); !strings.Contains(out, "data directory is in use") {
			t.Errorf("a second broker is refused with: %s", out)
		}
	}
	live.Stop(t)
	addr := freeAddr(t)
	shown := startArgs(t, data, addr, []string{"--read-only", data, "--listen", addr})
	if strings.Contains(shown.Output(), text) {
		t.Errorf("a warning about nobody:\n%s", shown.Output())
	}
	shown.end(t)
}
