package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"minibroker"
	"minibroker/config"
	"minibroker/logstore"
)

const aboutFormat = `format prepares empty data directories (log.dirs of the properties file) for a cluster, as kafka-storage.sh format of Apache
Kafka 4.4.0 does, with the same options and the same files: either program starts on what the other one formatted.

It is needed only to choose the cluster id, feature levels, voters or first users: minibroker formats an empty directory at its
start by itself.`

const formatExamples = `  minibroker format -t $(minibroker random-uuid) -c server.properties
  minibroker format -t 5L6g3nShT-eMCtK--X86sw -c server.properties --standalone --release-version 4.0
  minibroker format -t 5L6g3nShT-eMCtK--X86sw -c server.properties --ignore-formatted --add-scram 'SCRAM-SHA-256=[name=alice,password=secret]'`

func newFormat(stdout io.Writer) *cobra.Command {
	var file string
	o := minibroker.FormatOptions{Out: stdout}
	cmd := &cobra.Command{
		Use:     "format",
		Short:   "Format data directories, as kafka-storage.sh format does",
		Long:    aboutFormat,
		Example: formatExamples,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			props, err := config.ReadFile(file)
			if err != nil {
				return err
			}
			props, _ = flags{}.ownSettings(props)
			if o.Config, _, err = config.Parse(props); err != nil {
				return err
			}
			return minibroker.Format(o)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVarP(&file, "config", "c", "", "the `server.properties` that names log.dirs and node.id")
	set.StringVarP(&o.ClusterID, "cluster-id", "t", "", "the `ID` of the cluster; minibroker random-uuid makes one")
	set.BoolVarP(&o.IgnoreFormatted, "ignore-formatted", "g", false, "skip directories that are formatted already instead of refusing them")
	set.StringVarP(&o.Release, "release-version", "r", "", "take the feature levels of this `RELEASE`, 3.3-IV3 or newer (default 4.4-IV2)")
	set.StringArrayVarP(&o.Features, "feature", "f", nil, "give one feature this `name=level`; may be repeated")
	set.StringArrayVarP(&o.AddScram, "add-scram", "S", nil, "add a user: `SCRAM-SHA-256=[name=alice,password=secret]`; may be repeated")
	set.BoolVarP(&o.Standalone, "standalone", "s", false, "this node is the one voter of a dynamic quorum (kraft.version 1)")
	set.BoolVarP(&o.NoInitialControllers, "no-initial-controllers", "N", false, "a dynamic quorum without voters yet")
	set.StringVarP(&o.InitialControllers, "initial-controllers", "I", "", "the voters of a dynamic quorum, `id@host:port:directory-id,...`")
	cmd.MarkFlagsMutuallyExclusive("standalone", "no-initial-controllers", "initial-controllers")
	for _, name := range []string{"config", "cluster-id"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			cmd.RunE = func(*cobra.Command, []string) error { return err }
		}
	}
	return cmd
}

func newRandomUUID(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "random-uuid",
		Short: "Print a random id for a cluster, as kafka-storage.sh random-uuid does",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(stdout, logstore.NewUUID())
			return err
		},
	}
}
