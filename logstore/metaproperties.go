package logstore

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"minibroker/internal/vfs"
)

// MetaProperties is the meta.properties file of a data directory, Java
// properties text:
//
//	#
//	#Mon Nov 30 04:14:38 UTC 2026
//	node.id=1
//	directory.id=Au4-sqsZgixst1og9TP--Q
//	version=1
//	cluster.id=5L6g3nShT-eMCtK--X86sw
//
// The comment is the time of writing. Kafka's key order is that of a hash
// table, the same for these four keys always.
type MetaProperties struct {
	NodeID      int32
	ClusterID   string
	DirectoryID UUID // zero in files from before directories had ids
	Version     int  // 1
}

// ReadMetaProperties reads the file in a data directory; fs.ErrNotExist when
// there is none. What is wrong in it is told by a *CorruptError.
func ReadMetaProperties(fsys vfs.FS, dir string) (MetaProperties, error) {
	path := filepath.Join(dir, metaPropertiesName)
	data, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return MetaProperties{}, err
	}
	return parseMetaProperties(path, data)
}

// WriteMetaProperties replaces the file in a data directory.
func WriteMetaProperties(fsys vfs.FS, dir string, m MetaProperties) error {
	path := filepath.Join(dir, metaPropertiesName)
	return vfs.WriteFileAtomic(fsys, path, formatMetaProperties(m, time.Now()), 0o644)
}

func formatMetaProperties(m MetaProperties, at time.Time) []byte {
	b := []byte("#\n#" + at.UTC().Format("Mon Jan 02 15:04:05 MST 2006") + "\n")
	b = fmt.Appendf(b, "node.id=%d\n", m.NodeID)
	if !m.DirectoryID.IsZero() {
		b = fmt.Appendf(b, "directory.id=%s\n", m.DirectoryID)
	}
	b = fmt.Appendf(b, "version=%d\n", m.Version)
	return fmt.Appendf(b, "cluster.id=%s\n", escapeProperty(m.ClusterID))
}

// escapeProperty escapes what Java properties escape in a value.
func escapeProperty(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\f':
			b.WriteString(`\f`)
		case strings.ContainsRune(`\=:#!`, r), r == ' ' && i == 0:
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func parseMetaProperties(path string, data []byte) (MetaProperties, error) {
	fail := func(line int, format string, args ...any) (MetaProperties, error) {
		return MetaProperties{}, &CorruptError{File: path, Offset: -1, Line: line, Err: fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)}
	}
	m := MetaProperties{Version: -1, NodeID: -1}
	props, err := parseProperties(path, string(data))
	if err != nil {
		return MetaProperties{}, err
	}
	for _, p := range props {
		var err error
		switch p.key {
		case "version":
			m.Version, err = strconv.Atoi(p.value)
		case "node.id", "broker.id":
			var n int64
			n, err = strconv.ParseInt(p.value, 10, 32)
			m.NodeID = int32(n)
		case "cluster.id":
			m.ClusterID = p.value
		case "directory.id":
			m.DirectoryID, err = ParseUUID(p.value)
		}
		if err != nil {
			return fail(p.line, "%s is %.80q", p.key, p.value)
		}
	}
	switch {
	case m.Version < 0:
		return fail(0, "no version")
	case m.Version > 1:
		return MetaProperties{}, &CorruptError{File: path, Offset: -1, Err: fmt.Errorf("%w: %d", ErrVersion, m.Version)}
	case m.Version == 1 && m.ClusterID == "":
		return fail(0, "no cluster.id")
	case m.Version == 1 && m.NodeID < 0:
		return fail(0, "no node.id")
	}
	return m, nil
}
