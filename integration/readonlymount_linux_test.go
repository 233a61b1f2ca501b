package integration

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// readOnlyView shows a directory at a place where nothing can be written: on a read-only mount where this process may mount,
// else its own place without write permissions.
func readOnlyView(t *testing.T, dir string) string {
	t.Helper()
	place := t.TempDir()
	switch err := unix.Mount(dir, place, "", unix.MS_BIND, ""); {
	case errors.Is(err, unix.EPERM):
		writeProtect(t, dir)
		return dir
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount("", place, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "file"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Fatalf("write on the read-only mount: %v", err)
	}
	t.Log("on a read-only mount")
	return place
}
