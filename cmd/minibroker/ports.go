package main

import (
	"fmt"
	"os"
	"strings"

	"minibroker"
)

// The ports file tells which ports the system chose for port 0, a line for each listener that clients use:
//
//	PLAINTEXT=127.0.0.1:40123
//
// The address is the one that clients are told. The file appears whole, once the listeners serve, and goes with the broker.

// writePorts writes the ports file if there is to be one.
func (f flags) writePorts(broker *minibroker.Broker) error {
	if f.portsFile == "" {
		return nil
	}
	var text strings.Builder
	for _, name := range broker.Listeners() {
		if addr := broker.Advertised(name); addr != "" {
			fmt.Fprintf(&text, "%s=%s\n", name, addr)
		}
	}
	part := f.portsFile + ".tmp"
	if err := os.WriteFile(part, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write --ports-file: %w", err)
	}
	if err := os.Rename(part, f.portsFile); err != nil {
		return fmt.Errorf("write --ports-file: %w", err)
	}
	return nil
}

// removePorts removes the ports file, as far as that is possible: it says nothing true any more.
func (f flags) removePorts() {
	if f.portsFile != "" {
		_ = os.Remove(f.portsFile) // the broker stopped well whether this works or not
	}
}
