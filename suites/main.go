// Command suites runs the test suites of Kafka clients, which their authors wrote against Apache Kafka, against a broker of its own
// and writes down what came out.
//
//	suites [-broker minibroker|kafka] [-work DIR] NAME...   runs suites; results/NAME.json keeps the outcome of each broker
//	suites [-work DIR] fast                                 runs the fast parts and compares them with results/ (fast.go)
//	suites report                                           writes COMPATIBILITY.md from results/
//	suites list                                             the names
//
// It is run in the module's root, on Linux and as root: a suite and its broker get a network of their own (a namespace with nothing but the
// loopback device), so that the ports that suites have in their code are free and nothing reaches out while they run. A suite is fetched
// at the version of its entry in suites.go by the ordinary client of its registry, and where the package leaves its tests out, those
// by git from the tag of the same version in its repository (TESTS, TAG); it is built in a work directory (kept, so that a second run builds nothing) and given a fresh broker. Apache Kafka is the one in
// KAFKA_HOME, a folder with libs/. Not part of the default tests: a suite takes minutes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("suites", flag.ContinueOnError)
	broker := flags.String("broker", "minibroker", "what to run against: minibroker or kafka")
	work := flags.String("work", filepath.Join(os.TempDir(), "minibroker-suites"), "where suites are fetched and built")
	inside := flags.Bool("inside", false, "for the command itself: run what is built, in the network that is there")
	record := flags.Bool("record", false, "with fast: keep the number of tests that ran, for later runs to compare with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	names := flags.Args()
	switch {
	case len(names) == 0:
		return errors.New("name suites to run, or all, clients, list or report")
	case names[0] == "list":
		for _, s := range suites() {
			fmt.Println(s.Name)
		}
		return nil
	case names[0] == "fast":
		return runFast(*work, *record)
	case names[0] == "report":
		return writeReport()
	}
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	b, err := newBroker(*broker, *work)
	if err != nil {
		return err
	}
	if *inside {
		return runAll(chosen, b, *work)
	}
	if err := b.build(); err != nil {
		return err
	}
	call := []string{"-inside", "-broker", *broker, "-work", *work} // and the names of what was built
	var failures []error
	for _, s := range chosen {
		if err := s.build(*work); err != nil {
			failures = append(failures, err)
		} else {
			call = append(call, s.Name)
		}
	}
	if len(failures) < len(chosen) {
		failures = append(failures, isolated(call))
	}
	return errors.Join(append(failures, writeReport())...)
}

// choose finds suites by name; all stands for every one, clients for the client matrix.
func choose(names []string) ([]suite, error) {
	switch names[0] {
	case "all":
		return suites(), nil
	case "clients":
		return clientSuites(), nil
	}
	var chosen []suite
	for _, name := range names {
		i := slices.IndexFunc(suites(), func(s suite) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no suite %q; suites list tells the names", name)
		}
		chosen = append(chosen, suites()[i])
	}
	return chosen, nil
}

// isolated runs this command again where there is no network but the loopback device.
func isolated(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command("unshare", append([]string{"-n", "sh", "-c", `ip link set lo up && exec "$@"`, "sh", self}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func runAll(chosen []suite, b broker, work string) error {
	var failures []error
	var releases []suite
	for _, s := range chosen {
		if s.Client != "" {
			releases = append(releases, s)
		} else if err := runSuite(s, b, work); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errors.Join(append(failures, runClients(releases, b, work))...)
}
