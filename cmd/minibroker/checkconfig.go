package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minibroker/config"
)

// errConfig ends check-config with exit code 1 after the findings were printed.
var errConfig = errors.New("a broker would not start with this")

func newCheckConfig(stdout io.Writer) *cobra.Command {
	var f flags
	given := false
	cmd := &cobra.Command{
		Use:   "check-config [server.properties]",
		Short: "Show every setting in effect with where it comes from, and what is wrong with them",
		Long: `check-config reads the same file, environment and flags as a start would, and prints each setting as it takes effect, with the place that
it comes from: a line of the file, an environment variable, a flag, or a default. Then it says what a start would stumble over:
wrong values in Kafka's words, ports that are taken, directories that are locked, cannot be written or belong to another cluster,
advertised names that do not resolve, settings without effect. Each finding comes with what to do about it. Nothing is changed.
The exit code is 1 when a broker would not start.`,
		Example: `  minibroker check-config server.properties
  minibroker check-config --given server.properties --override num.partitions=3
  KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9092 minibroker check-config`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.file = args[0]
			}
			return checkConfig(f, stdout, given)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&given, "given", false, "show only what was given, not the defaults")
	return cmd
}

// checkConfig prints settings and findings.
func checkConfig(f flags, stdout io.Writer, givenOnly bool) error {
	props, conf, findings := f.examine()
	if conf != nil {
		if err := printSettings(stdout, conf, props, givenOnly); err != nil {
			return err
		}
		findings = append(findings, checkDirs(conf, f.env.settings.ClusterID)...)
		findings = append(findings, checkPorts(conf)...)
		findings = append(findings, checkAdvertised(conf)...)
	}
	fmt.Fprintln(stdout)
	if printAll(stdout, findings) > 0 {
		return errConfig
	}
	return nil
}

// examine reads the settings. Without conf there is a failure among the findings.
func (f *flags) examine() (props []config.Property, conf *config.Broker, findings []finding) {
	var err error
	if f.env, err = readSurroundings(); err == nil {
		props, err = f.properties()
	}
	if err == nil {
		_, err = f.startTopics()
	}
	if err != nil {
		return props, nil, []finding{refusal(err)}
	}
	kafkas, _ := f.ownSettings(props)
	conf, notices, err := config.Parse(kafkas)
	if err != nil {
		return props, nil, []finding{refusal(err)}
	}
	for _, n := range notices {
		severity := notable
		if n.Level >= slog.LevelWarn {
			severity = warning
		}
		findings = append(findings, finding{severity: severity, cause: n.Text, remedy: n.Remedy})
	}
	for _, e := range conf.Effective() {
		if why := config.NoEffect(e.Name); e.Given && why == config.Idle {
			findings = append(findings, finding{severity: notable, about: e.Source, cause: e.Name + " has no effect: " + why})
		}
	}
	return props, conf, findings
}

// refusal is the finding about settings that are refused.
func refusal(err error) finding {
	f := finding{severity: failure, cause: err.Error()}
	var refused *config.Error
	if errors.As(err, &refused) {
		f.about, f.cause, f.remedy = refused.Source, refused.Text, refused.Remedy()
	}
	return f
}

// printSettings prints a table of the settings. Of one that was given at several places it names those that did not count.
func printSettings(w io.Writer, conf *config.Broker, props []config.Property, givenOnly bool) error {
	places := map[string][]string{}
	for _, p := range props {
		places[p.Key] = append(places[p.Key], p.Source)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range conf.Effective() {
		if givenOnly && !e.Given {
			continue
		}
		source := e.Source
		for i, place := range places[e.Name] {
			if i < len(places[e.Name])-1 && place != e.Source {
				source += ", over " + place
			}
		}
		fmt.Fprintf(table, "%s=%s\t%s\n", escape(e.Name), escape(e.Value), escape(source))
	}
	return table.Flush()
}
