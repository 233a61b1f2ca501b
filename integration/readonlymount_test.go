//go:build !linux

package integration

import "testing"

// readOnlyView takes the write permissions from a directory.
func readOnlyView(t *testing.T, dir string) string {
	writeProtect(t, dir)
	return dir
}
