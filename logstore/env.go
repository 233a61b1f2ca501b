package logstore

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"minibroker/internal/vfs"
)

// env is what the logs of one store share.
type env struct {
	fsys     vfs.FS
	lines    *slog.Logger // of the classes of Kafka's that line names
	logger   *slog.Logger // of Kafka's LogManager
	files    *openFiles
	removals *removals

	// suspect is told that an operation below a data directory failed. It may be
	// called with any lock held. nil outside of a store.
	suspect func(dir string, err error)

	lastConfig atomic.Pointer[Config]

	startsRaised atomic.Uint64 // how often a log's start was

	chunks chunkPool
	walks  walkPool

	// background runs what an append must not wait for, such as the flush
	// after a roll. Who closes a log or a store waits for it.
	background sync.WaitGroup
}

// sharedConfig is a copy of the settings that logs opened one after another have in
// common: most topics have none of their own.
func (e *env) sharedConfig(c Config) *Config {
	if last := e.lastConfig.Load(); last != nil && *last == c {
		return last
	}
	own := c // here, so that the argument needs no memory of its own
	e.lastConfig.Store(&own)
	return &own
}

func newEnv(fsys vfs.FS, logger *slog.Logger, openFileLimit int) *env {
	if fsys == nil {
		fsys = vfs.OS()
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	manager := logger.With(slog.String("logger", kafkaClasses+"LogManager"))
	return &env{fsys: fsys, lines: logger, logger: manager, files: newOpenFiles(openFileLimit), removals: newRemovals(fsys, manager)}
}
