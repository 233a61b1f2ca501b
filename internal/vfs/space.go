package vfs

import "golang.org/x/sys/unix"

// DiskSpace tells how large the file system is that holds a file or directory
// of the operating system, and how much of it this process may still use, both
// in bytes.
func DiskSpace(name string) (total, usable int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, 0, err
	}
	block := uint64(st.Bsize)
	return int64(uint64(st.Blocks) * block), int64(uint64(st.Bavail) * block), nil
}
