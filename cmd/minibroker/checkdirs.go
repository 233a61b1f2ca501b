package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"minibroker/config"
	"minibroker/logstore"
)

// accessWrite and accessSearch are W_OK and X_OK of access(2).
const (
	accessWrite  = 2
	accessSearch = 1
)

// checkDirs looks at the log dirs without changing anything in them: can they be written, are they in use, whose are they.
func checkDirs(conf *config.Broker, clusterID config.Property) []finding {
	var findings []finding
	first, firstDir := "", "" // cluster
	for _, dir := range conf.LogDirs() {
		about := "log.dirs " + dir
		if f, bad := checkWritable(about, dir); bad {
			findings = append(findings, f)
			continue
		}
		if inUse(dir) {
			findings = append(findings, finding{failure, about, "it is locked: another Kafka or minibroker uses it",
				"stop that one, or give this one its own log.dirs (--data-dir, KAFKA_LOG_DIRS)"})
		}
		meta, err := logstore.ReadDirMeta(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			findings = append(findings, finding{failure, about, err.Error(), "restore meta.properties, or choose an empty directory"})
			continue
		case meta.NodeID != conf.NodeID():
			findings = append(findings, finding{failure, about, fmt.Sprintf("it was made for node.id %d, and node.id is %d", meta.NodeID, conf.NodeID()),
				fmt.Sprintf("set node.id=%d (KAFKA_NODE_ID), or choose another directory", meta.NodeID)})
		}
		if first == "" {
			first, firstDir = meta.ClusterID, dir
		}
		if meta.ClusterID != first {
			findings = append(findings, finding{failure, about, fmt.Sprintf("it belongs to cluster %s, %s to cluster %s", meta.ClusterID, firstDir, first),
				"put log dirs of one cluster together, or choose an empty directory"})
		}
	}
	if clusterID.Value != "" && first != "" && clusterID.Value != first {
		findings = append(findings, finding{warning, clusterID.Source, fmt.Sprintf("cluster id %s is not used: %s belongs to cluster %s", clusterID.Value, firstDir, first),
			fmt.Sprintf("set %s=%s, or choose an empty directory for a new cluster", clusterID.Key, first)})
	}
	return findings
}

// checkWritable tells what keeps the broker from writing to a directory, or from making it.
func checkWritable(about, dir string) (f finding, bad bool) {
	there := dir
	info, err := os.Stat(there)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(there) != there {
		there = filepath.Dir(there)
		info, err = os.Stat(there)
	}
	switch {
	case err != nil:
		return finding{failure, about, reason(err), "choose a directory that this user can reach"}, true
	case !info.IsDir():
		return finding{failure, about, there + " is a file, no directory", "choose a directory"}, true
	case syscall.Access(there, accessWrite|accessSearch) == nil:
		return finding{}, false
	}
	owner := "another user"
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = fmt.Sprintf("user %d, group %d", stat.Uid, stat.Gid)
	}
	return finding{failure, about, fmt.Sprintf("%s cannot be written by user %d: it belongs to %s with mode %v, or its file system is read-only", there, os.Getuid(), owner,
		info.Mode().Perm()), fmt.Sprintf("chown -R %d %s where the volume comes from, run as its owner (docker run --user), or choose another directory", os.Getuid(), there)}, true
}

// inUse tells whether another process has the lock of a log dir. A directory without a lock file is in nobody's use.
func inUse(dir string) bool {
	file, err := os.Open(filepath.Join(dir, ".lock"))
	if err != nil {
		return false
	}
	defer file.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock); err != nil {
		return false
	}
	return lock.Type != syscall.F_UNLCK
}
