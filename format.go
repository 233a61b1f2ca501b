package minibroker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"minibroker/config"
	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
)

// FormatOptions say how data directories are formatted: the options of Kafka's kafka-storage.sh format.
type FormatOptions struct {
	// Config names the directories, the node and its controller listener; required.
	Config    *config.Broker
	ClusterID string
	FS        vfs.FS    // nil is the operating system's
	Out       io.Writer // what Kafka's tool prints; required

	IgnoreFormatted bool     // leave directories alone that are formatted
	Release         string   // of the feature levels: "4.0", "4.0-IV1"; "" is the newest
	Features        []string // "name=level"
	AddScram        []string // "SCRAM-SHA-256=[name=…,password=…]"

	// At most one of these. Without any the voters are those of controller.quorum.voters.
	Standalone           bool   // this node is the one voter
	NoInitialControllers bool   // no voters yet
	InitialControllers   string // "id@host:port:directory-id,…"
}

// Format writes into empty data directories what kafka-storage.sh format of Apache Kafka 4.4.0 writes: meta.properties, and in
// the directory of the metadata log the checkpoint that the log begins with. Refusals are *metadata.FormatError with Kafka's text.
func Format(o FormatOptions) error {
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	f, err := o.plan()
	if err != nil {
		return err
	}
	dirs, err := o.look()
	if err != nil {
		return err
	}
	if len(dirs.formatted) > 0 && !o.IgnoreFormatted {
		return &metadata.FormatError{Text: fmt.Sprintf("Log directory %s is already formatted. Use --ignore-formatted to ignore this directory and "+
			"format the others.", dirs.formatted[0])}
	}
	if len(dirs.empty) == 0 && len(dirs.formatted) == 0 {
		return &metadata.FormatError{Text: "No available log directories to format."}
	}
	if len(dirs.empty) == 0 {
		_, err := fmt.Fprintln(o.Out, "All of the log directories are already formatted.")
		return err
	}
	if _, err := fmt.Fprintln(o.Out, bootstrapLine(f)); err != nil {
		return err
	}
	for _, dir := range dirs.empty {
		if err := o.formatDir(f, dir); err != nil {
			return err
		}
	}
	return nil
}

// plan works out what the metadata log begins with.
func (o *FormatOptions) plan() (*metadata.Format, error) {
	static := len(o.Config.List("controller.quorum.voters")) > 0
	dynamic := o.Standalone || o.InitialControllers != ""
	switch {
	case o.ClusterID == "":
		return nil, &metadata.FormatError{Text: "The cluster id is empty; minibroker random-uuid makes one."}
	case static && dynamic:
		return nil, &metadata.FormatError{Text: "You cannot specify controller.quorum.voters and format the node with --initial-controllers or " +
			"--standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead."}
	case !static && !dynamic && !o.NoInitialControllers:
		return nil, &metadata.FormatError{Text: "Because controller.quorum.voters is not set on this controller, you must specify one of the following: " +
			"--standalone, --initial-controllers, or --no-initial-controllers."}
	}
	f, err := metadata.NewFormat(o.Release, o.Features, !static)
	if err != nil {
		return nil, err
	}
	for _, text := range o.AddScram {
		credential, err := metadata.ParseScram(text)
		if err != nil {
			return nil, err
		}
		if err := f.AddCredential(credential); err != nil {
			return nil, err
		}
	}
	f.Voters, err = o.voters()
	return f, err
}

// voters are the ones that the metadata shall name.
func (o *FormatOptions) voters() ([]metadata.Voter, error) {
	endpoints := controllerEndpoints(o.Config)
	if !o.Standalone && o.InitialControllers == "" {
		return nil, nil
	}
	if len(endpoints) == 0 {
		return nil, &metadata.FormatError{Text: "There is no controller listener: name one in controller.listener.names and listeners."}
	}
	if o.InitialControllers != "" {
		return metadata.ParseVoters(o.InitialControllers, endpoints[0].Name)
	}
	var where []metadata.VoterEndpoint
	for _, e := range endpoints {
		where = append(where, metadata.VoterEndpoint{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	return []metadata.Voter{metadata.NewVoter(o.Config.NodeID(), logstore.NewUUID(), where)}, nil
}

// formatDirs are the data directories as they were found, sorted by name.
type formatDirs struct{ empty, formatted []string }

// look finds out which directories are formatted, and refuses those of another cluster or node. A directory that cannot be read
// is told of and left out.
func (o *FormatOptions) look() (found formatDirs, err error) {
	set := map[string]bool{o.Config.MetadataLogDir(): true}
	for _, dir := range o.Config.LogDirs() {
		set[dir] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(set)) {
		meta, err := o.readMeta(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found.empty = append(found.empty, dir)
		case err != nil:
			if _, err := fmt.Fprintf(o.Out, "I/O error trying to read log directory %s. Ignoring...\n", dir); err != nil {
				return found, err
			}
		case meta.ClusterID != o.ClusterID:
			return found, &metadata.FormatError{Text: fmt.Sprintf("Invalid cluster.id in: %s/meta.properties. Expected %s, but read %s", dir, o.ClusterID, meta.ClusterID)}
		case meta.NodeID != o.Config.NodeID():
			return found, &metadata.FormatError{Text: fmt.Sprintf("Invalid node.id in: %s/meta.properties. Expected %d, but read %d", dir, o.Config.NodeID(), meta.NodeID)}
		default:
			found.formatted = append(found.formatted, dir)
		}
	}
	return found, nil
}

func (o *FormatOptions) readMeta(dir string) (logstore.MetaProperties, error) {
	if info, err := o.FS.Stat(dir); err == nil && !info.IsDir() {
		return logstore.MetaProperties{}, fmt.Errorf("%s is no directory", dir)
	}
	return logstore.ReadMetaProperties(o.FS, dir)
}

// formatDir formats one directory: meta.properties comes last, since with it the directory counts as formatted.
func (o *FormatOptions) formatDir(f *metadata.Format, dir string) error {
	meta := logstore.MetaProperties{NodeID: o.Config.NodeID(), ClusterID: o.ClusterID, DirectoryID: logstore.NewUUID(), Version: 1}
	holdsLog, what := dir == o.Config.MetadataLogDir(), "data directory"
	if holdsLog {
		what = "metadata directory"
		if len(f.Voters) > 0 {
			what = "dynamic metadata directory"
		}
		for _, v := range f.Voters {
			if v.ID == meta.NodeID {
				meta.DirectoryID, what = v.DirectoryID, "dynamic metadata voter directory"
			}
		}
	}
	if _, err := fmt.Fprintf(o.Out, "Formatting %s %s with metadata.version %s.\n", what, dir, metadata.ReleaseName(f.Level)); err != nil {
		return err
	}
	err := logstore.MakeDir(o.FS, dir)
	if err == nil && holdsLog {
		err = f.Write(o.FS, dir)
	}
	if err == nil {
		err = logstore.WriteMetaProperties(o.FS, dir, meta)
	}
	if err != nil {
		return fmt.Errorf("format %s: %w", dir, err)
	}
	return nil
}

// bootstrapLine is Kafka's line about what the log begins with. It leaves out credentials, which Kafka prints with their keys.
func bootstrapLine(f *metadata.Format) string {
	var records []string
	for _, level := range f.Levels() {
		records = append(records, fmt.Sprintf("ApiMessageAndVersion(FeatureLevelRecord(name='%s', featureLevel=%d) at version 0)", level.Name, level.Level))
	}
	return fmt.Sprintf("Bootstrap metadata: BootstrapMetadata(records=[%s], metadataVersionLevel=%d, source=format command)", strings.Join(records, ", "), f.Level)
}
