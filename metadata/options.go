package metadata

import (
	"errors"
	"fmt"
	"log/slog"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// DirName is the name of the metadata log's directory in its log dir.
const DirName = "__cluster_metadata-0"

// Options say where the metadata is and who this node is.
type Options struct {
	FS     vfs.FS       // nil: the operating system's files
	Dir    string       // the metadata log's own directory, …/__cluster_metadata-0
	Logger *slog.Logger // nil: nothing is logged

	NodeID            int32
	ClusterID         string
	Rack              string          // broker.rack; "": none
	DirectoryID       logstore.UUID   // of the log dir that holds the metadata log; zero: unknown
	DirectoryIDs      []logstore.UUID // of all log dirs in use
	DirectoriesFailed bool            // there are others, which could not be read
	// Endpoints tells which client listeners to register, given the metadata
	// that the last run left; nil: none.
	Endpoints           func(*Image) []Endpoint
	ControllerEndpoints []Endpoint

	// CleanBrokerEpoch is the broker epoch that the last clean stop left in
	// .kafka_cleanshutdown, -1 if there was none. Only if it is that of the
	// registration in the log the last stop counts as clean.
	CleanBrokerEpoch int64
	// MinISR is the node's own min.insync.replicas; a new cluster gets it as
	// its default. "" is 1.
	MinISR string
	// UncleanElection is the node's own unclean.leader.election.enable.
	UncleanElection bool

	SegmentBytes int   // metadata.log.segment.bytes; 0 is 1 GiB
	SegmentMs    int64 // metadata.log.segment.ms; 0 is 7 days
	// A snapshot is written once the log has this many bytes more than the
	// last one covers, or this many ms of them.
	SnapshotBytes      int64 // metadata.log.max.record.bytes.between.snapshots; 0 is 20 MiB
	SnapshotIntervalMs int64 // metadata.log.max.snapshot.interval.ms; 0 is one hour
	RetentionBytes     int64 // metadata.max.retention.bytes; 0 is 100 MiB, negative keeps all
	RetentionMs        int64 // metadata.max.retention.ms; 0 is 7 days, negative keeps all

	// OnChange runs after a change became visible in Store.Image and before
	// the change is answered. Several changes that were synced together are
	// one call. It may be called by one goroutine at a time and must not
	// change the metadata. It is not called for what Open replays and appends.
	// Its error goes to those who made the changes, which stay.
	OnChange func(old, new *Image) error

	// OnFailure is told why the log takes nothing more, once, after an error of
	// the file system. It must neither block nor call the store.
	OnFailure func(error)
}

const weekMs = 7 * 24 * 3600 * 1000

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MinISR == "" {
		o.MinISR = "1"
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 1 << 30
	}
	for _, d := range []struct {
		value *int64
		usual int64
	}{
		{&o.SegmentMs, weekMs}, {&o.SnapshotBytes, 20 << 20}, {&o.SnapshotIntervalMs, 3600 * 1000},
		{&o.RetentionBytes, 100 << 20}, {&o.RetentionMs, weekMs},
	} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
	if o.Endpoints == nil {
		o.Endpoints = func(*Image) []Endpoint { return nil }
	}
	if o.OnFailure == nil {
		o.OnFailure = func(error) {}
	}
	if o.OnChange == nil {
		o.OnChange = func(_, _ *Image) error { return nil }
	}
	return o
}

func (o *Options) validate() error {
	switch {
	case o.Dir == "":
		return errors.New("no directory for the metadata log")
	case o.NodeID < 0:
		return fmt.Errorf("node id %d is negative", o.NodeID)
	case o.ClusterID == "":
		return errors.New("no cluster id")
	}
	return nil
}
