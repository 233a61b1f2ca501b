package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// runFast runs the fast parts of all suites that have one, each against a fresh minibroker at ports that are free, and compares what
// comes out with results/: what passes there has to pass. It needs neither root nor a network of its own. A test that fails is tried
// again, alone, as retry says.
func runFast(work string, record bool) error {
	work, err := fastWork(work)
	if err != nil {
		return err
	}
	b, err := newBroker("minibroker", work)
	if err != nil {
		return err
	}
	if err := b.build(); err != nil {
		return err
	}
	flaky, err := readReasons(filepath.Join("suites", "flaky.txt"))
	if err != nil {
		return err
	}
	var failures []error
	for _, s := range suites() {
		if s.Fast == nil {
			continue
		}
		if err := fast(s, b, work, flaky, record); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errors.Join(failures...)
}

// fastWork is a folder for the scripts as they are now: what an older one built is not taken for this one's.
func fastWork(work string) (string, error) {
	sum := sha256.New()
	root := filepath.Join("suites", "scripts")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintln(sum, path, len(text))
		sum.Write(text)
		return err
	})
	return filepath.Join(work, "fast-"+hex.EncodeToString(sum.Sum(nil))[:12]), err
}

// fast builds, runs and judges the fast part of a suite.
func fast(s suite, b broker, work string, flaky []reason, record bool) error {
	r, err := readResult(s.Name)
	if err != nil {
		return err
	}
	if _, ran := r.Brokers["minibroker"]; !ran || r.Version != s.Version {
		return fmt.Errorf("results/ has no run of %s; make suite-%s makes one", s.Version, s.Name)
	}
	if err := s.build(work); err != nil {
		return err
	}
	run := func(more []string) (outcome, error) {
		here := b
		if here.port, here.controller, err = freePorts(); err != nil {
			return outcome{}, err
		}
		return try(s, here, work, slices.Concat(s.Fast, more))
	}
	got, err := run(nil)
	if err != nil {
		return err
	}
	if record {
		r.Fast = got.total()
		return write(r)
	}
	worse := worseThan(r, got)
	if err := retry(s, r, worse, flaky, run); err != nil {
		return err
	}
	fmt.Printf("%s, fast part: %d tests ran, %d of them pass in results/ and not now\n", s.Name, got.total(), len(worse))
	var failures []error
	for _, test := range slices.Sorted(maps.Keys(worse)) {
		failures = append(failures, fmt.Errorf("%s: %s", test, worse[test]))
	}
	return errors.Join(failures...)
}

// unsteady is how many tests of one suite may fail beside all others and pass by themselves each time without flaky.txt saying why: the first run
// that meets such a test is not the one to fail, but it says so.
const unsteady = 1

// knownTries is how often a test that flaky.txt knows is tried by itself: one that fails every third time fails at each of six in one run of 700.
const knownTries = 6

// retry runs each test that is worse than recorded alone, and takes it off worse when it passes: once of knownTries, where flaky.txt knows it; each
// of three times, where nobody has looked into it yet, and only where no more than unsteady tests are in that state.
func retry(s suite, r result, worse map[string]string, flaky []reason, run func(more []string) (outcome, error)) error {
	var unknown []string
	for _, test := range slices.Sorted(maps.Keys(worse)) {
		if test == missing {
			continue
		}
		words, why := worse[test], reasonFor(flaky, s.Name, test)
		if why == "" {
			unknown = append(unknown, test)
			continue
		}
		fmt.Printf("%s: %s did not pass (%s); it is known for that: %s. Again, alone\n", s.Name, test, words, why)
		for range knownTries {
			good, err := passesAlone(s, r, test, run)
			if err != nil {
				return err
			}
			if good {
				delete(worse, test)
				break
			}
		}
	}
	if len(unknown) > unsteady {
		return nil
	}
	for _, test := range unknown {
		fmt.Printf("%s: %s did not pass (%s). Three times more, alone\n", s.Name, test, worse[test])
		good := true
		for i := 0; i < 3 && good; i++ {
			var err error
			if good, err = passesAlone(s, r, test, run); err != nil {
				return err
			}
		}
		if good {
			fmt.Printf("%s: %s is unsteady: find out why, then mend it or write the reason into suites/flaky.txt\n", s.Name, test)
			delete(worse, test)
		}
	}
	return nil
}

// passesAlone tells whether a test passes by itself. With it runs what its runner cannot tell apart, such as the same test with other
// parameters; how that ends is another matter.
func passesAlone(s suite, r result, test string, run func(more []string) (outcome, error)) (bool, error) {
	again, err := run(s.Alone(test))
	_, worse := worseThan(result{Brokers: r.Brokers}, again)[test]
	return again.Passed > 0 && !worse, err
}

// missing stands in worseThan's list for tests that did not run at all.
const missing = "(the suite)"

// worseThan lists the tests that pass in a result and not now, with their words, and says when tests are missing.
func worseThan(r result, got outcome) map[string]string {
	worse, recorded := map[string]string{}, r.Brokers["minibroker"]
	for _, bad := range []map[string]string{got.Failed, got.Skipped} {
		for test, words := range bad {
			_, failed := recorded.Failed[test]
			_, skipped := recorded.Skipped[test]
			if !failed && !skipped {
				worse[test] = words
			}
		}
	}
	if got.total() < r.Fast {
		worse[missing] = fmt.Sprintf("only %d of %d tests ran", got.total(), r.Fast)
	}
	return worse
}

// freePorts gives two ports of this machine that nobody listens on.
func freePorts() (string, string, error) {
	var ports []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer l.Close() // both are held until both are known
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return "", "", err
		}
		ports = append(ports, port)
	}
	return ports[0], ports[1], nil
}

// goAlone names a test of Go's to its script.
func goAlone(test string) []string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return []string{"TESTS=" + strings.Join(parts, "/")}
}

// pythonAlone names a test of pytest's, whose parameters -k does not know.
func pythonAlone(test string) []string {
	name, _, _ := strings.Cut(test, "[")
	return []string{"FLAGS=-k " + name[strings.LastIndexByte(name, '.')+1:]}
}
