package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"minibroker/logstore"
)

// progressEvery is the pause between two lines about work that takes long.
const progressEvery = 2 * time.Second

// errFindings ends the command with exit code 1 after the findings were printed.
var errFindings = errors.New("the directory is damaged")

func newVerify(stdout, stderr io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR...",
		Short: "Check the data directories of a stopped broker; exit code 1 when something is wrong",
		Long: `verify reads everything in a data directory (log.dirs) that no broker has in use: every batch with its checksum and its place in
the order of offsets, every index entry against the batch it points at, producer snapshots, leader epochs, checkpoints and
what they say about the logs. It prints each thing that is wrong with its file and byte, and changes nothing. It reads
directories of Kafka 4.x as well.`,
		Example: `  minibroker verify ./minibroker-data
  minibroker verify /var/lib/kafka/a /var/lib/kafka/b && echo sound`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, dirs []string) error {
			found := 0
			for _, dir := range dirs {
				n, err := verify(dir, stdout, stderr)
				if err != nil {
					return fmt.Errorf("verify %s: %w", dir, err)
				}
				found += n
			}
			if found > 0 {
				return fmt.Errorf("%w: %d findings", errFindings, found)
			}
			return nil
		},
	}
}

// verify checks one directory and prints what is wrong with it, then one line that sums it up.
func verify(dir string, stdout, stderr io.Writer) (found int, err error) {
	said, logs := time.Now(), 0
	findings, err := logstore.VerifyDir(dir, func(name string, done, total int) {
		logs++
		if time.Since(said) >= progressEvery {
			said = time.Now()
			fmt.Fprintf(stderr, "%s: %d of %d entries checked, now %s\n", dir, done, total, name)
		}
	})
	for _, f := range findings {
		fmt.Fprintln(stdout, f)
	}
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d directories checked, %d findings\n", dir, logs, len(findings))
	return len(findings), err
}
