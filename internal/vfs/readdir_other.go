//go:build !linux

package vfs

import (
	"io/fs"
	"os"
)

// readDir lists a directory, sorted by name.
func readDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
