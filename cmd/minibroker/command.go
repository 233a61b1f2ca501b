package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

const about = `minibroker is a Kafka broker in one binary: it speaks Kafka's wire protocol and keeps Kafka's own files.

Without a properties file it listens on 127.0.0.1:9092 and keeps its data in ./minibroker-data. A properties file written for
Kafka 4.x (server.properties) starts it unchanged: with one, its listeners and log.dirs count. Environment variables KAFKA_* go
over the file and mean what they mean to Kafka's image (KAFKA_LOG_RETENTION_MS is log.retention.ms); flags go over both.
minibroker check-config shows what comes out.`

const examples = `  # a broker on 127.0.0.1:9092, data in ./minibroker-data
  minibroker

  # as kafka-server-start.sh would be called
  minibroker config/server.properties --override log.retention.hours=24

  # reachable from other machines, which are told the name of this one
  minibroker --listen 0.0.0.0:9092 --advertise kafka.example.com:9092 --data-dir /var/lib/minibroker

  # one listener for the host, another for containers
  minibroker --listen HOST://0.0.0.0:9092 --advertise HOST://localhost:9092 \
             --listen DOCKER://0.0.0.0:19092 --advertise DOCKER://kafka:19092

  # for a test: any free port, told in a file, and a topic
  minibroker --listen 127.0.0.1:0 --ports-file ports --data-dir "$(mktemp -d)" --topic orders:3:cleanup.policy=compact

  # settings as containers get them
  KAFKA_NUM_PARTITIONS=3 KAFKA_LOG_RETENTION_MS=60000 minibroker

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
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.version {
				_, err := fmt.Fprintln(stdout, version())
				return err
			}
			if len(args) > 0 {
				f.file = args[0]
			}
			var err error
			if f.env, err = readSurroundings(); err != nil {
				return err
			}
			return serve(f, stdout)
		},
	}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	set := cmd.Flags()
	f.add(cmd)
	set.StringVar(&f.readOnly, "read-only", "", "show the data in `DIR` (several with commas) without changing a byte: everything can be read, nothing written")
	set.StringArrayVar(&f.topics, "topic", nil, "create `NAME:PARTITIONS[:key=value...]` at the start unless it is there; may be repeated")
	set.StringVar(&f.portsFile, "ports-file", "", "write NAME=HOST:PORT of every listener to `FILE` once they serve, for port 0; removed at the stop")
	set.StringVar(&f.http, "http", "", "serve /metrics, /healthz, /readyz and /debug/pprof on `HOST:PORT` (minibroker.http.listen)")
	set.StringVar(&f.control, "control", "", "take fault rules for tests on `HOST:PORT` (minibroker.control.listen)")
	// Cobra's own --version needs a template, and with the template package the linker keeps every method of every type: 2 MB.
	set.BoolVarP(&f.version, "version", "v", false, "print the version")
	set.StringVar(&f.logFormat, "log-format", logFormats[0], "log in `FORMAT` kafka, text or json")
	cmd.AddCommand(
		newPing(stdout),
		newVerify(stdout, stderr),
		newFormat(stdout),
		newRandomUUID(stdout),
		newDump(stdout, stderr),
		newCheckConfig(stdout),
		newDoctor(stdout),
		newTopics(stdout),
		newProduce(os.Stdin, stdout),
		newConsume(stdout),
		newVersion(stdout),
	)
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
				return advised{err, reachRemedy(addr, err)}
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
