package vfs

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// OpenDir holds a directory open.
func (osFS) OpenDir(name string) (Dir, error) {
	f, err := openFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return osDir{f}, nil
}

type osDir struct{ *osFile }

func (d osDir) List() ([]fs.DirEntry, error) { return d.list() }

func (d osDir) ReadStart(name string, buf []byte) (n int, err error) { return d.readIn(name, buf) }
