package logstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"minibroker/internal/vfs"
)

// CleanShutdown is the .kafka_cleanshutdown file, one line of JSON without a
// newline. That it exists means that the last stop was clean; what it says is
// only told to the controller.
type CleanShutdown struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"` // of the broker's registration, -1 if unknown
}

// readCleanShutdown reads the file in a data directory. found tells whether
// there is one; an empty or unreadable text counts, with an unknown epoch.
func readCleanShutdown(fsys vfs.FS, dir string) (c CleanShutdown, found bool, err error) {
	c.BrokerEpoch = -1
	data, err := vfs.ReadFile(fsys, filepath.Join(dir, cleanShutdownName))
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	read := c
	if json.Unmarshal(data, &read) != nil || read.Version != 0 {
		return c, true, nil
	}
	return read, true, nil
}

// writeCleanShutdown creates the file, durable.
func writeCleanShutdown(fsys vfs.FS, dir string, c CleanShutdown) error {
	text := fmt.Sprintf(`{"version":%d,"brokerEpoch":%d}`, c.Version, c.BrokerEpoch)
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, cleanShutdownName), []byte(text), 0o644)
}

// removeCleanShutdown removes the file; the removal is durable, so that a crash
// from now on counts as one.
func removeCleanShutdown(fsys vfs.FS, dir string) error {
	err := fsys.Remove(filepath.Join(dir, cleanShutdownName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}
