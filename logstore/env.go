package logstore

import (
	"log/slog"
	"sync"

	"minibroker/internal/vfs"
)

// env is what the logs of one store share.
type env struct {
	fsys     vfs.FS
	logger   *slog.Logger
	files    *openFiles
	removals *removals
	chunks   chunkPool

	// background runs what an append must not wait for, such as the flush
	// after a roll. Who closes a log or a store waits for it.
	background sync.WaitGroup
}

func newEnv(fsys vfs.FS, logger *slog.Logger, openFileLimit int) *env {
	if fsys == nil {
		fsys = vfs.OS()
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &env{fsys: fsys, logger: logger, files: newOpenFiles(openFileLimit), removals: newRemovals(fsys, logger)}
}
