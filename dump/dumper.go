package dump

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// Decoder says how the records of a log are to be read.
type Decoder string

// The decoders. Auto goes by the name of the directory: __consumer_offsets-0 holds records of groups, and so on.
const (
	Auto         Decoder = ""
	Plain        Decoder = "plain" // keys and values as text
	Groups       Decoder = "groups"
	Transactions Decoder = "transactions"
	Metadata     Decoder = "metadata"
	ShareState   Decoder = "share-state"
)

// Options says what is shown and how.
type Options struct {
	JSON        bool // an object a line instead of Kafka's lines
	BatchesOnly bool // no records
	NoData      bool // records without keys and values
	Decoder     Decoder
	FS          vfs.FS    // nil is the operating system's
	Out         io.Writer // what is in the files
	Complaints  io.Writer // what is wrong with them; nil discards
}

// Dumper shows files.
type Dumper struct {
	o     Options
	fs    vfs.FS
	out   *bufio.Writer
	line  line
	wrong complaints
}

// New returns a Dumper; Close it in the end.
func New(o Options) *Dumper {
	d := &Dumper{o: o, fs: o.FS, out: bufio.NewWriterSize(o.Out, 64<<10), line: line{json: o.JSON}}
	if d.fs == nil {
		d.fs = vfs.OS()
	}
	return d
}

// Close writes what is left, and the complaints. It returns how many there are.
func (d *Dumper) Close() (found int, err error) {
	err = d.out.Flush()
	if d.o.Complaints != nil {
		err = errors.Join(err, d.wrong.write(d.o.Complaints))
	}
	return d.wrong.count, err
}

// Path shows a file, or every file below a directory, sorted by name.
func (d *Dumper) Path(path string) error {
	info, err := d.fs.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return d.File(path)
	}
	entries, err := d.fs.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if !e.IsDir() && kindOf(name) == unknown {
			continue
		}
		if err := d.Path(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // a broker may have removed it meanwhile
			return err
		}
	}
	return nil
}

// fileKind is what a file holds.
type fileKind int8

const (
	unknown fileKind = iota
	logFile
	metadataSnapshot
	offsetIndex
	timeIndex
	txnIndex
	producers
	offsetCheckpoint
	epochCheckpoint
	properties
	plainText
)

// kindOf goes by the name alone; what was renamed on its way to removal or to its place is what it was before.
func kindOf(path string) fileKind {
	name := filepath.Base(path)
	for _, suffix := range [...]string{".deleted", ".cleaned", ".swap"} {
		name = strings.TrimSuffix(name, suffix)
	}
	switch filepath.Ext(name) {
	case ".log":
		return logFile
	case ".checkpoint":
		return metadataSnapshot
	case ".index":
		return offsetIndex
	case ".timeindex":
		return timeIndex
	case ".txnindex":
		return txnIndex
	case ".snapshot":
		return producers
	}
	switch name {
	case "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint", "cleaner-offset-checkpoint":
		return offsetCheckpoint
	case "leader-epoch-checkpoint":
		return epochCheckpoint
	case "meta.properties":
		return properties
	case "partition.metadata", "quorum-state", ".kafka_cleanshutdown":
		return plainText
	}
	return unknown
}

// File shows one file. An error means that it could not be read; what is wrong with what is in it is a complaint.
func (d *Dumper) File(path string) error {
	kind := kindOf(path)
	if kind == unknown {
		return fmt.Errorf("%s is no file of a log dir that is known here: %w", path, errUnknown)
	}
	if !d.o.JSON {
		fmt.Fprintf(d.out, "Dumping %s\n", path)
	}
	var err error
	switch kind {
	case logFile, metadataSnapshot:
		err = d.log(path, kind)
	case offsetIndex:
		err = d.offsetIndex(path)
	case timeIndex:
		err = d.timeIndex(path)
	case txnIndex:
		err = d.txnIndex(path)
	case producers:
		err = d.producers(path)
	case offsetCheckpoint:
		err = d.checkpoint(path, "topic", "partition", "offset")
	case epochCheckpoint:
		err = d.checkpoint(path, "epoch", "startOffset")
	default:
		err = d.textFile(path, kind)
	}
	var corrupt *logstore.CorruptError
	if errors.As(err, &corrupt) {
		d.wrong.add("Corrupt: "+path, corrupt.Error())
		err = nil
	}
	return err
}

// errUnknown is the error of a file whose name says nothing.
var errUnknown = errors.New("a .log, .index, .timeindex, .txnindex, .snapshot or .checkpoint file, a checkpoint, meta.properties, " +
	"partition.metadata, quorum-state or .kafka_cleanshutdown is wanted")

// emit writes the line.
func (d *Dumper) emit() error {
	_, err := d.out.Write(d.line.end())
	return err
}

// say writes a line of text that is about the whole file; in JSON it is made of fields instead.
func (d *Dumper) say(format string, args ...any) {
	if !d.o.JSON {
		fmt.Fprintf(d.out, format+"\n", args...)
	}
}
