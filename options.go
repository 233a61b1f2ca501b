package minibroker

import (
	"log/slog"

	"minibroker/config"
	"minibroker/fault"
	"minibroker/handlers"
	"minibroker/internal/vfs"
	"minibroker/meter"
)

// Options says what a Broker is made of.
type Options struct {
	// Config is the static configuration (server.properties and overrides); required.
	Config *config.Broker
	// Logger receives the broker's log lines, in Kafka's words; nil discards them. The attribute "logger" names Kafka's
	// class that would have written the line.
	Logger *slog.Logger
	// Loggers lets clients see and set the levels of named loggers; nil: there are none.
	Loggers handlers.Loggers
	// ClusterID is the id for data directories that have none yet; "" makes one. Directories that have one keep it.
	ClusterID string
	// Topics are created before the first client is answered, unless they exist.
	Topics []config.StartTopic
	// FS is where the data directories are; nil is the operating system's.
	FS vfs.FS
	// ReadOnly shows the data directories without changing a byte of them: reading and describing work, all that would write
	// is refused. Topics of a directory without __cluster_metadata-0 are read off its partitions.
	ReadOnly bool
	// Requests counts requests and their times; nil counts nothing.
	Requests *meter.Requests
	// Faults are rules by which requests are harmed on purpose, for tests of clients; nil: there are none.
	Faults *fault.Set
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	return o
}
