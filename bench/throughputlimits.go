package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

const (
	receiveName  = "receive 1 MiB, CRC32C, write to a new file: per CPU second"
	receiveSmall = "the same with 64 KiB at a time: per CPU second"
	receiveSix   = "receive 6 MiB, CRC32C of each MiB, write to six files: per CPU second"
	sendName     = "sendfile of 1 MiB from the page cache: per CPU second"
	sendFour     = "the same to 4 connections: per CPU second"
	sendSixteen  = "the same to 16 connections: per CPU second"
)

// throughputLimits measures receiving and sending. A broker must have a whole batch before it can check it, and may write none that is
// wrong: the pieces are as large as the batches of the produce case. What it would be with smaller pieces stands beside it.
func (r *results) throughputLimits(ctx context.Context, scratch string, mib int) error {
	dir := filepath.Join(scratch, "limits")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, l := range []struct {
		name, command string
		piece, mib, n int
	}{
		{receiveName, receiverCommand, 1 << 20, mib, 1}, {receiveSmall, receiverCommand, 64 << 10, mib, 1},
		{receiveSix, receiverCommand, 1 << 20, mib / 6 * 6, 6},
		{sendName, senderCommand, 1 << 20, 4 * mib, 1}, {sendFour, senderCommand, 1 << 20, 4 * mib, 4},
		{sendSixteen, senderCommand, 1 << 20, 4 * mib, 16},
	} {
		file := filepath.Join(dir, fmt.Sprint(l.command, l.piece, "-", l.n))
		other := func(addr string) error { return feed(addr, l.mib) }
		if l.command == senderCommand {
			other = func(addr string) error { return together(l.n, func(int) error { return drain(addr, l.mib/l.n) }) }
		}
		seconds, err := limit(ctx, other, l.command, file, strconv.Itoa(l.piece), strconv.Itoa(l.mib), strconv.Itoa(l.n))
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		r.limit(l.name, "MiB", more, float64(l.mib)/seconds)
	}
	return nil
}

// feed sends a receiver so many MiB.
func feed(addr string, mib int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	buf := make([]byte, 1<<20)
	for n := 0; n < len(buf); n += 8 {
		binary.BigEndian.PutUint64(buf[n:], uint64(n)*0x9E3779B97F4A7C15)
	}
	for range mib {
		if _, err := c.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// drain takes so many MiB from a sender.
func drain(addr string, mib int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	buf := make([]byte, 1<<20)
	for left := mib << 20; left > 0; {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// limitArguments are FILE PIECE MIB N.
func limitArguments(args []string) (file string, numbers [3]int, err error) {
	if len(args) != 1+len(numbers) {
		return "", numbers, errors.New("a file, the bytes of a piece, MiB and a number are to be named")
	}
	for i := range numbers {
		var wrong error
		numbers[i], wrong = strconv.Atoi(args[1+i])
		err = errors.Join(err, wrong)
	}
	return args[0], numbers, err
}

// receiveLimit takes so many pieces at a time, then makes a checksum of each and writes it to a file of its own.
func receiveLimit(_ context.Context, args []string, out io.Writer) error {
	name, numbers, err := limitArguments(args)
	if err != nil {
		return err
	}
	piece, mib, n := numbers[0], numbers[1], numbers[2]
	files := make([]*os.File, n)
	for i := range files {
		if files[i], err = os.Create(fmt.Sprint(name, i)); err != nil {
			return err
		}
		defer files[i].Close()
	}
	return onConnections(out, 1, func(c []net.Conn) error {
		table, buf := crc32.MakeTable(crc32.Castagnoli), make([]byte, n*piece)
		for range mib << 20 / len(buf) {
			if _, err := io.ReadFull(c[0], buf); err != nil {
				return err
			}
			for i, file := range files {
				part := buf[i*piece : (i+1)*piece]
				_ = crc32.Checksum(part, table)
				if _, err := file.Write(part); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// sendLimit sends a file that was just written, again and again, to each connection an nth, a piece with each call.
func sendLimit(_ context.Context, args []string, out io.Writer) error {
	name, numbers, err := limitArguments(args)
	if err != nil {
		return err
	}
	piece, mib, n := numbers[0], numbers[1], numbers[2]
	size := int64(mib) << 20 / 4 // which does not fit into the processor's caches
	if err := os.WriteFile(name, make([]byte, size), 0o644); err != nil {
		return err
	}
	return onConnections(out, n, func(all []net.Conn) error {
		return together(n, func(k int) error { return sendFile(all[k].(*net.TCPConn), name, size, piece, int64(mib/n)<<20) })
	})
}

// sendFile sends left bytes of a file of so many, from its start again behind its end.
func sendFile(c *net.TCPConn, name string, size int64, piece int, left int64) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	for at := int64(0); left > 0; {
		if at == size {
			at = 0
		}
		if _, err := file.Seek(at, io.SeekStart); err != nil {
			return err
		}
		sent, err := c.ReadFrom(io.LimitReader(file, min(int64(piece), left))) // which is sendfile
		if err != nil {
			return err
		}
		at, left = at+sent, left-sent
	}
	return nil
}
