package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// What the machine can do at all, beside which a broker's throughput stands: each limit is a process of a few lines that
// does nothing but what no broker can leave out. It is this program itself, started with one of these commands.
const (
	receiverCommand = "limit-receive" // FILE PIECE: receive, checksum, write
	senderCommand   = "limit-send"    // FILE PIECE: send a file
)

const (
	limitCase    = "limits"
	limitPeer    = "the machine"
	receiveName  = "receive 1 MiB, CRC32C, write to a new file: per CPU second"
	receiveSmall = "the same with 64 KiB at a time: per CPU second"
	sendName     = "sendfile of 1 MiB from the page cache: per CPU second"
)

// limits measures both. A broker must have a whole batch before it can check it, and may write none that is wrong: the pieces
// are as large as the batches of the produce case. What it would be with smaller pieces stands beside it.
func (r *results) limits(ctx context.Context, scratch string, mib int) error {
	dir := filepath.Join(scratch, "limits")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, l := range []struct {
		name, command string
		piece, mib    int
	}{{receiveName, receiverCommand, 1 << 20, mib}, {receiveSmall, receiverCommand, 64 << 10, mib}, {sendName, senderCommand, 1 << 20, 4 * mib}} {
		rate, err := limit(ctx, l.command, filepath.Join(dir, fmt.Sprint(l.command, l.piece)), l.piece, l.mib)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		r.add(figure{Case: limitCase, Name: l.name, Unit: "MiB", Good: more}, limitPeer, rate)
		fmt.Fprintf(os.Stderr, "%s  %-20s %s %s MiB\n", time.Now().Format(time.TimeOnly), limitCase, l.name, show(rate))
	}
	return nil
}

// limit runs one process, is its other side, and gives MiB per second of the process' processor time.
func limit(ctx context.Context, command, file string, piece, mib int) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, command, file, strconv.Itoa(piece), strconv.Itoa(mib))
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
		if err := otherSide(command, said.Text(), mib); err != nil {
			return 0, err
		}
		if !said.Scan() {
			return 0, errors.New("it tells no time")
		}
		return strconv.ParseFloat(said.Text(), 64)
	}()
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return 0, err
	}
	return float64(mib) / seconds, nil
}

// otherSide sends what a receiver takes, or takes what a sender sends.
func otherSide(command, addr string, mib int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	buf := make([]byte, 1<<20)
	for n := 0; n < len(buf); n += 8 {
		binary.BigEndian.PutUint64(buf[n:], uint64(n)*0x9E3779B97F4A7C15)
	}
	if command == receiverCommand {
		for range mib {
			if _, err := c.Write(buf); err != nil {
				return err
			}
		}
		return nil
	}
	for left := mib << 20; left > 0; {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// onConnection tells an address, serves the connection that comes, and tells the processor time that this took.
func onConnection(out io.Writer, serve func(net.Conn) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintln(out, l.Addr())
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	before := ownCPU()
	if err := serve(c); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, (ownCPU() - before).Seconds())
	return err
}

func limitArguments(args []string) (file string, piece, mib int, err error) {
	if len(args) != 3 {
		return "", 0, 0, errors.New("a file, the bytes of a piece and MiB are to be named")
	}
	piece, pieceErr := strconv.Atoi(args[1])
	mib, mibErr := strconv.Atoi(args[2])
	return args[0], piece, mib, errors.Join(pieceErr, mibErr)
}

// receiveLimit takes pieces, makes a checksum of each, and writes it.
func receiveLimit(_ context.Context, args []string, out io.Writer) error {
	name, piece, mib, err := limitArguments(args)
	if err != nil {
		return err
	}
	return onConnection(out, func(c net.Conn) error {
		file, err := os.Create(name)
		if err != nil {
			return err
		}
		defer file.Close()
		table, buf := crc32.MakeTable(crc32.Castagnoli), make([]byte, piece)
		for range mib << 20 / piece {
			if _, err := io.ReadFull(c, buf); err != nil {
				return err
			}
			_ = crc32.Checksum(buf, table)
			if _, err := file.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
}

// sendLimit sends a file that was just written, again and again, a piece with each call.
func sendLimit(_ context.Context, args []string, out io.Writer) error {
	name, piece, mib, err := limitArguments(args)
	if err != nil {
		return err
	}
	size := int64(mib) << 20 / 4 // which does not fit into the processor's caches
	if err := os.WriteFile(name, make([]byte, size), 0o644); err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return onConnection(out, func(c net.Conn) error {
		for at, left := int64(0), int64(mib)<<20; left > 0; {
			if at == size {
				at = 0
			}
			if _, err := file.Seek(at, io.SeekStart); err != nil {
				return err
			}
			n, err := c.(*net.TCPConn).ReadFrom(io.LimitReader(file, min(int64(piece), left))) // which is sendfile
			if err != nil {
				return err
			}
			at, left = at+n, left-n
		}
		return nil
	})
}
