// Command minibroker runs a broker that speaks Kafka's wire protocol and keeps Kafka's files. See minibroker --help.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"minibroker/config"
)

// Exit codes.
const (
	exitOK      = 0
	exitRuntime = 1 // the broker could not start, or did not end well
	exitUsage   = 2 // the command line is wrong
)

// usageError is a mistake on the command line.
type usageError struct{ err error }

// Error is the text of the mistake.
func (e usageError) Error() string { return e.err.Error() }

// Unwrap is the mistake itself.
func (e usageError) Unwrap() error { return e.err }

// advised is an error with what to do about it.
type advised struct {
	err    error
	remedy string
}

// Error is the text of the error alone; the remedy gets a line of its own.
func (e advised) Error() string { return e.err.Error() }

// Unwrap is the error.
func (e advised) Unwrap() error { return e.err }

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command line and gives the exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	cmd := newCommand(stdout, stderr)
	cmd.SetArgs(args)
	err := cmd.Execute()
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "minibroker: %v\nSee 'minibroker --help'.\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "minibroker: %v\n", err)
	var help advised
	var refused *config.Error
	var path *fs.PathError
	switch {
	case errors.As(err, &help):
		fmt.Fprintf(stderr, "try: %s\n", help.remedy)
	case errors.As(err, &refused):
		fmt.Fprintf(stderr, "try: %s\n", refused.Remedy())
	case errors.As(err, &path) && errors.Is(err, fs.ErrPermission):
		fmt.Fprintf(stderr, "try: chown -R %d %s where the volume comes from, run as its owner (docker run --user), or choose another directory\n",
			os.Getuid(), filepath.Dir(path.Path))
	}
	return exitRuntime
}
