package main

import (
	"fmt"
	"runtime/debug"
)

// kafkaVersion is the release whose behaviour this broker has.
const kafkaVersion = "4.4.0"

// version is this program's own version, as far as the build knows it, and Kafka's.
func version() string {
	own := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			own = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && own == "(devel)" {
				own = s.Value
			}
		}
	}
	return fmt.Sprintf("minibroker %s (Kafka %s)", own, kafkaVersion)
}
