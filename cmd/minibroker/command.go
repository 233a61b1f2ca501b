package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

const about = `minibroker is a Kafka broker in one binary: it speaks Kafka's wire protocol and keeps Kafka's own files.

Without a properties file it listens on 127.0.0.1:9092 and keeps its data in ./minibroker-data. A properties file written for
Kafka 4.x (server.properties) starts it unchanged: with one, its listeners and log.dirs count. Flags go over the file.`

const examples = `  # a broker on 127.0.0.1:9092, data in ./minibroker-data
  minibroker

  # as kafka-server-start.sh would be called
  minibroker config/server.properties --override log.retention.hours=24

  # reachable from other machines, which are told the name of this one
  minibroker --listen 0.0.0.0:9092 --advertise kafka.example.com:9092 --data-dir /var/lib/minibroker

  # one listener for the host, another for containers
  minibroker --listen HOST://0.0.0.0:9092 --advertise HOST://localhost:9092 \
             --listen DOCKER://0.0.0.0:19092 --advertise DOCKER://kafka:19092

  # look into a data directory of Kafka's, or a copy of one, without changing it
  minibroker --read-only /var/lib/kafka

  # is it there? (for health checks; exit code 0 or 1)
  minibroker ping 127.0.0.1:9092`

// newCommand makes the command with its subcommands.
func newCommand(stdout, stderr io.Writer) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:           "minibroker [server.properties]",
		Short:         "A Kafka broker in one binary",
		Long:          about,
		Example:       examples,
		Args:          usageArgs(cobra.MaximumNArgs(1)),
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.file = args[0]
			}
			return serve(f, stdout)
		},
	}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	set := cmd.Flags()
	set.SortFlags = false
	set.StringArrayVar(&f.overrides, "override", nil, "set `key=value` over the file; may be repeated")
	set.StringArrayVar(&f.listen, "listen", nil, "bind `HOST:PORT` or NAME://HOST:PORT; may be repeated, no host binds all interfaces, port 0 takes a free one")
	set.StringArrayVar(&f.advertise, "advertise", nil, "tell clients `HOST:PORT` or NAME://HOST:PORT instead; may be repeated")
	set.StringVar(&f.dataDir, "data-dir", "", "keep data in `DIR` (log.dirs; several with commas between them)")
	set.StringVar(&f.readOnly, "read-only", "", "show the data in `DIR` (several with commas) without changing a byte: everything can be read, nothing written")
	cmd.AddCommand(newPing(stdout), newVerify(stdout, stderr), newVersion(stdout))
	return cmd
}

func newVersion(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(stdout, version())
			return err
		},
	}
}

func newPing(stdout io.Writer) *cobra.Command {
	timeout := 2 * time.Second
	cmd := &cobra.Command{
		Use:     "ping [HOST:PORT]",
		Short:   "Ask a broker whether it serves; exit code 0 or 1",
		Long:    "ping asks the broker at HOST:PORT (" + defaultAddress + " when not given) for its API versions. It needs no shell, so it suits health checks.",
		Example: "  minibroker ping 127.0.0.1:9092",
		Args:    usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			addr := defaultAddress
			if len(args) > 0 {
				addr = args[0]
			}
			if err := ping(addr, timeout); err != nil {
				return err
			}
			_, err := fmt.Fprintf(stdout, "%s serves\n", addr)
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "give up after this time")
	return cmd
}

// usageArgs marks a complaint about arguments as a mistake on the command line.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
