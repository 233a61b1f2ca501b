package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// What the machine can do at all, beside which a broker's figures stand: each limit is a process of a few lines that does nothing
// but what no broker can leave out. It is this program itself, started with one of these commands.
const (
	receiverCommand = "limit-receive" // FILE PIECE MIB N: receive N pieces, then checksum and write each to a file of its own
	senderCommand   = "limit-send"    // FILE PIECE MIB N: send a file to N connections
	answerCommand   = "limit-answer"  // N: answer short requests on N connections
)

const (
	limitCase = "limits"
	limitPeer = "the machine"
)

// limits measures those that stand beside the cases that were chosen.
func (r *results) limits(ctx context.Context, scratch string, s sizes, only *regexp.Regexp) error {
	chosen := func(cases ...string) bool { return slices.ContainsFunc(append(cases, limitCase), only.MatchString) }
	if chosen("produce", "consume") {
		if err := r.throughputLimits(ctx, scratch, s.limitMiB); err != nil {
			return err
		}
	}
	if chosen("idle") {
		return r.answerLimits(ctx, s.idleConsumers, s.idle)
	}
	return nil
}

func (r *results) limit(name, unit, good string, value float64) {
	r.add(figure{Case: limitCase, Name: name, Unit: unit, Good: good}, limitPeer, value)
	fmt.Fprintf(os.Stderr, "%s  %-20s %s %s %s\n", time.Now().Format(time.TimeOnly), limitCase, name, show(value), unit)
}

// limit runs one process while the other side does its part, and gives the processor time that the process took, in seconds.
func limit(ctx context.Context, other func(addr string) error, command ...string) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, command...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	said := bufio.NewScanner(out)
	seconds, err := func() (float64, error) {
		if !said.Scan() {
			return 0, errors.New("it tells no address")
		}
		if err := other(said.Text()); err != nil {
			return 0, err
		}
		if !said.Scan() {
			return 0, errors.New("it tells no time")
		}
		return strconv.ParseFloat(said.Text(), 64)
	}()
	return seconds, errors.Join(err, cmd.Wait())
}

// onConnections tells an address, serves the n connections that come, and tells the processor time that this took.
func onConnections(out io.Writer, n int, serve func([]net.Conn) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintln(out, l.Addr())
	all := make([]net.Conn, n)
	for i := range all {
		if all[i], err = l.Accept(); err != nil {
			return err
		}
		defer all[i].Close()
	}
	before := ownCPU()
	if err := serve(all); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, (ownCPU() - before).Seconds())
	return err
}
