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
	"path/filepath"
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
	limitCase    = "limits"
	limitPeer    = "the machine"
	receiveName  = "receive 1 MiB, CRC32C, write to a new file: per CPU second"
	receiveSmall = "the same with 64 KiB at a time: per CPU second"
	receiveSix   = "receive 6 MiB, CRC32C of each MiB, write to six files: per CPU second"
	sendName     = "sendfile of 1 MiB from the page cache: per CPU second"
	sendFour     = "the same to 4 connections: per CPU second"
	sendSixteen  = "the same to 16 connections: per CPU second"
)

// limits measures all. A broker must have a whole batch before it can check it, and may write none that is wrong: the pieces
// are as large as the batches of the produce case. What it would be with smaller pieces stands beside it.
func (r *results) limits(ctx context.Context, scratch string, s sizes) error {
	dir := filepath.Join(scratch, "limits")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, l := range []struct {
		name, command string
		piece, mib, n int
	}{
		{receiveName, receiverCommand, 1 << 20, s.limitMiB, 1}, {receiveSmall, receiverCommand, 64 << 10, s.limitMiB, 1},
		{receiveSix, receiverCommand, 1 << 20, s.limitMiB / 6 * 6, 6},
		{sendName, senderCommand, 1 << 20, 4 * s.limitMiB, 1}, {sendFour, senderCommand, 1 << 20, 4 * s.limitMiB, 4},
		{sendSixteen, senderCommand, 1 << 20, 4 * s.limitMiB, 16},
	} {
		file := filepath.Join(dir, fmt.Sprint(l.command, l.piece, "-", l.n))
		seconds, err := limit(ctx, func(addr string) error { return otherSides(l.command, addr, l.mib, l.n) },
			l.command, file, strconv.Itoa(l.piece), strconv.Itoa(l.mib), strconv.Itoa(l.n))
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		r.limit(l.name, "MiB", more, float64(l.mib)/seconds)
	}
	seconds, err := limit(ctx, func(addr string) error { return askNowAndThen(addr, s.idleConsumers, s.idle) }, answerCommand, strconv.Itoa(s.idleConsumers))
	if err != nil {
		return fmt.Errorf("%s: %w", answerName, err)
	}
	r.limit(answerName, "ms", less, 1000*seconds/s.idle.Seconds())
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
