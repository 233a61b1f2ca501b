package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"minibroker/dump"
)

// errDamaged ends dump with exit code 1 after everything was shown.
var errDamaged = errors.New("not everything in the files is right")

func newDump(stdout, stderr io.Writer) *cobra.Command {
	o := dump.Options{Out: stdout, Complaints: stderr}
	decoder := "auto"
	cmd := &cobra.Command{
		Use:   "dump PATH...",
		Short: "Show what is in the files of a data directory, as kafka-dump-log.sh does or as JSON",
		Long: `dump shows files of a data directory, of Kafka's as well: .log segments with batches and records, .index, .timeindex, .txnindex,
producer snapshots (.snapshot), snapshots of the metadata (.checkpoint), checkpoints, leader epochs, meta.properties,
partition.metadata and quorum-state. Of a directory it shows all that is below it.

The lines are those of kafka-dump-log.sh --print-data-log; records of __consumer_offsets, __transaction_state,
__share_group_state and __cluster_metadata are decoded by themselves. With --json each line is an object with "file" and "type".
What is wrong (checksums, index entries that point nowhere) goes to standard error, and the exit code is 1 then. Nothing is
changed, and a broker may run meanwhile.`,
		Example: `  minibroker dump minibroker-data/words-0/00000000000000000000.log
  minibroker dump --batches minibroker-data/words-0
  minibroker dump --json minibroker-data | jq -c 'select(.type == "record") | .value'
  minibroker dump minibroker-data/__cluster_metadata-0
  minibroker dump --decoder groups copy-of-consumer-offsets.log`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, paths []string) error {
			var ok bool
			if o.Decoder, ok = decoderOf(decoder); !ok {
				return usageError{fmt.Errorf("--decoder %s: want one of %s", decoder, strings.Join(decoderNames(), ", "))}
			}
			return dumpPaths(o, paths)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.BoolVar(&o.JSON, "json", false, "an object a line")
	set.BoolVar(&o.BatchesOnly, "batches", false, "batches without their records")
	set.BoolVar(&o.NoData, "no-data", false, "records without keys and values")
	set.StringVar(&decoder, "decoder", decoder, "read records as `KIND`: "+strings.Join(decoderNames(), ", "))
	if err := cmd.RegisterFlagCompletionFunc("decoder", cobra.FixedCompletions(decoderNames(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such flag: a mistake of this function
	}
	return cmd
}

// decoderNames are the names of the decoders on the command line.
func decoderNames() []string {
	return []string{"auto", string(dump.Plain), string(dump.Groups), string(dump.Transactions), string(dump.Metadata), string(dump.ShareState)}
}

func decoderOf(name string) (dump.Decoder, bool) {
	if name == "auto" {
		return dump.Auto, true
	}
	return dump.Decoder(name), slices.Contains(decoderNames(), name)
}

// dumpPaths shows files and directories.
func dumpPaths(o dump.Options, paths []string) error {
	d := dump.New(o)
	var err error
	for _, path := range paths {
		if err = d.Path(path); err != nil {
			err = fmt.Errorf("dump: %w", err)
			break
		}
	}
	found, closeErr := d.Close()
	if err = errors.Join(err, closeErr); err == nil && found > 0 {
		return fmt.Errorf("%w: %d findings, see above", errDamaged, found)
	}
	return err
}
