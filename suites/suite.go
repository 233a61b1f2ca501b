package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is one test suite of somebody else's.
type suite struct {
	Name     string
	Package  string        // as its registry names it
	Version  string        // as its registry names it
	Script   string        // in scripts/, does "build" and "run"; several suites may share one
	Env      []string      // for the script, beside the address
	Settings []string      // of the broker, key=value, beside those that every broker gets
	Restart  time.Duration // the broker is stopped and started this often while the suite runs; 0 for never
	Format   func([]byte) (outcome, error)
	Limit    time.Duration              // of one run
	What     string                     // one line for the report
	Fast     []string                   // more for the script, of the part that is run with every change; nil for none
	Alone    func(test string) []string // for the script, to run one test of the fast part
	Client   string                     // the library, where this is no test suite but a program of ours with one release of it
}

// home is where the suite is fetched and built.
func (s suite) home(work string) string {
	kind := s.Script
	if s.Client != "" {
		kind += "-" + s.Client // some share a script
	}
	return filepath.Join(work, kind+"@"+strings.ReplaceAll(s.Version, "/", "_"))
}

// build fetches and builds the suite, unless that was done.
func (s suite) build(work string) error {
	if err := os.MkdirAll(s.home(work), 0o755); err != nil {
		return err
	}
	fmt.Printf("%s: build %s %s\n", s.Name, s.Package, s.Version)
	if _, err := s.script(s.home(work), "build", "", nil, 30*time.Minute); err != nil {
		return fmt.Errorf("%s: build: %w", s.Name, err)
	}
	return nil
}

// runSuite runs a suite that is built against a fresh broker and keeps the outcome.
func runSuite(s suite, b broker, work string) error {
	fmt.Printf("%s: run against %s\n", s.Name, b.Kind)
	began := time.Now()
	o, err := try(s, b, work, nil)
	if o.total() == 0 {
		return err
	}
	fmt.Printf("%s: %d passed, %d failed, %d skipped in %v\n", s.Name, o.Passed, len(o.Failed), len(o.Skipped), time.Since(began).Round(time.Second))
	return errors.Join(keep(s, b.Kind, o), err)
}

// try runs a suite that is built, with more in its script's environment, against a fresh broker. Tests that fail are no error; a broker that
// does not start, stop or leave sound files is, and so is a suite of which nothing ran.
func try(s suite, b broker, work string, more []string) (outcome, error) {
	running, err := b.start(s)
	if err != nil {
		return outcome{}, err
	}
	restarts := make(chan error, 1)
	done := make(chan struct{})
	if s.Restart > 0 {
		go running.restartEvery(s.Restart, done, restarts)
	} else {
		restarts <- nil
	}
	out, failed := s.script(s.home(work), "run", b.address(), more, s.Limit)
	close(done)
	stopped := errors.Join(<-restarts, running.stop())
	o, err := s.Format(out)
	if err == nil && o.total() == 0 {
		err = errors.New("no test ran")
	}
	if err != nil {
		return outcome{}, errors.Join(err, failed, stopped)
	}
	if errors.Is(failed, errTimeout) {
		o.Failed["(the suite)"] = fmt.Sprintf("not done after %v", s.Limit)
	}
	return o, stopped
}

// errTimeout says that a suite was ended because its time was over.
var errTimeout = errors.New("time is over")

// script runs the suite's script in home, with the broker's address and more in its environment, and returns its standard output; a failure
// comes with the end of its standard error.
func (s suite) script(home, verb, address string, more []string, limit time.Duration) ([]byte, error) {
	path, err := filepath.Abs(filepath.Join("suites", "scripts", s.Script+".sh"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("timeout", "-k", "10", strconv.Itoa(int(limit.Seconds())), "bash", path, verb)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), append([]string{"SCRIPTS=" + filepath.Dir(path), "PACKAGE=" + s.Package,
		"VERSION=" + s.Version, "ADDRESS=" + address}, slices.Concat(s.Env, more)...)...)
	log, err := os.Create(filepath.Join(home, s.Name+"-"+verb+".log")) // to look into while it runs
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, log), io.MultiWriter(&errs, log)
	err = cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 124 {
		err = errTimeout
	}
	end := errs.Bytes()
	return out.Bytes(), fmt.Errorf("%s %s: %w\n%s", s.Script, verb, err, end[max(0, len(end)-2000):])
}
