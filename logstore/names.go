package logstore

import (
	"fmt"
	"strconv"
	"strings"
)

// Files at the top of a data directory.
const (
	metaPropertiesName      = "meta.properties"
	lockName                = ".lock"
	cleanShutdownName       = ".kafka_cleanshutdown"
	recoveryPointCheckpoint = "recovery-point-offset-checkpoint"
	logStartCheckpoint      = "log-start-offset-checkpoint"
	replicationCheckpoint   = "replication-offset-checkpoint"
	cleanerCheckpoint       = "cleaner-offset-checkpoint"
	metadataLogDir          = "__cluster_metadata-0"
	remoteIndexCacheDir     = "remote-log-index-cache"
)

// Files in a partition's directory.
const (
	leaderEpochCheckpointName = "leader-epoch-checkpoint"
	partitionMetadataName     = "partition.metadata"

	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"

	deletedSuffix = ".deleted" // renamed, waiting for removal
	cleanedSuffix = ".cleaned" // being written by a cleaning or a split
	swapSuffix    = ".swap"    // finished, being renamed into place
)

// Ends of the names of directories set aside: <topic>-<partition>.<32 hex>…
const (
	deleteDirSuffix = "-delete"
	futureDirSuffix = "-future"
	strayDirSuffix  = "-stray"
)

// maxNameLength is what file systems allow for one name.
const maxNameLength = 255

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the name of the partition's directory, "topic-0".
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.FormatInt(int64(tp.Partition), 10)
}

// segmentFileName is the base offset in 20 digits and a suffix. Snapshots are
// named the same way.
func segmentFileName(base int64, suffix string) string {
	if base < 0 {
		return fmt.Sprintf("%020d%s", base, suffix) // no such segment can be made
	}
	return string(appendSegmentFileName(make([]byte, 0, 64), base, suffix))
}

// appendSegmentFileName does it for an offset that is none below zero.
func appendSegmentFileName(b []byte, base int64, suffix string) []byte {
	var room [20]byte
	digits := strconv.AppendInt(room[:0], base, 10)
	const zeros = "00000000000000000000"
	b = append(b, zeros[min(len(digits), len(zeros)):]...)
	return append(append(b, digits...), suffix...)
}

// parseSegmentFileName splits a name such as
// "00000000000000000042.log.deleted" into 42 and ".log.deleted". Kafka takes
// any run of digits before the first dot.
func parseSegmentFileName(name string) (base int64, suffix string, ok bool) {
	dot := strings.IndexByte(name, '.')
	if dot <= 0 || name[0] < '0' || name[0] > '9' {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:dot], 10, 64)
	if err != nil {
		return 0, "", false
	}
	return base, name[dot:], true
}

// setAsideDirName is the name a partition's directory gets when it is deleted
// or found to be a stray: a random id keeps it apart from earlier ones of the
// same name. The topic is cut so that the name has at most 255 characters,
// except for -future, as Kafka does.
func setAsideDirName(tp TopicPartition, suffix string) string {
	tail := "-" + strconv.FormatInt(int64(tp.Partition), 10) + "." + NewUUID().hex() + suffix
	topic := tp.Topic
	if room := maxNameLength - len(tail); suffix != futureDirSuffix && len(topic) > room {
		topic = topic[:room]
	}
	return topic + tail
}

// dirName is what the name of a partition's directory says.
type dirName struct {
	tp     TopicPartition
	suffix string // "" for a live partition, else the end of a directory set aside
}

// parseDirName reads the name of a partition's directory. A topic that was cut
// to fit stays cut.
func parseDirName(name string) (dirName, error) {
	d := dirName{}
	rest := name
	for _, suffix := range [...]string{deleteDirSuffix, futureDirSuffix, strayDirSuffix} {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || !isHex32(strings.TrimSuffix(name[dot+1:], suffix)) {
			break // a topic may be called so: "a-delete-0" is cut at its last dash
		}
		rest, d.suffix = name[:dot], suffix
		break
	}
	dash := strings.LastIndexByte(rest, '-')
	if dash <= 0 || dash == len(rest)-1 {
		return dirName{}, dirNameError(name)
	}
	n, err := strconv.ParseUint(rest[dash+1:], 10, 31)
	if err != nil {
		return dirName{}, dirNameError(name)
	}
	d.tp = TopicPartition{Topic: rest[:dash], Partition: int32(n)}
	return d, nil
}

func dirNameError(name string) error {
	return fmt.Errorf("%w: directory %q is not named <topic>-<partition>; move it out of the data directory", ErrMalformed, name)
}

func isHex32(s string) bool {
	if len(s) != 32 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
