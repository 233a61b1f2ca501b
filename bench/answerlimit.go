package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

const answerName = "answer short requests of 50 connections, each asks every 3 s and every 5 s: CPU per second"

// Sizes of what is asked and answered, near to those of a heartbeat.
const askBytes, answerBytes = 100, 50

// answerLimits measures answering, in ms of processor time a second.
func (r *results) answerLimits(ctx context.Context, connections int, rest time.Duration) error {
	ask := func(addr string) error { return askNowAndThen(addr, connections, rest) }
	seconds, err := limit(ctx, ask, answerCommand, strconv.Itoa(connections))
	if err != nil {
		return fmt.Errorf("%s: %w", answerName, err)
	}
	r.limit(answerName, "ms", less, 1000*seconds/rest.Seconds())
	return nil
}

// answerLimit answers what comes on so many connections until they end.
func answerLimit(_ context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("a number of connections is to be named")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return onConnections(out, n, func(all []net.Conn) error {
		return together(n, func(k int) error {
			buf := make([]byte, askBytes)
			for {
				if _, err := io.ReadFull(all[k], buf); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
				if _, err := all[k].Write(buf[:answerBytes]); err != nil {
					return err
				}
			}
		})
	})
}

// askNowAndThen asks as consumers at rest do: heartbeats at three, six and nine tenths of the time, fetches at its half and its end,
// all consumers at once.
func askNowAndThen(addr string, connections int, rest time.Duration) error {
	return together(connections, func(int) error {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		buf := make([]byte, askBytes)
		begun := time.Now()
		for _, tenth := range []time.Duration{3, 5, 6, 9, 10} {
			<-time.After(time.Until(begun.Add(rest / 10 * tenth)))
			if _, err := c.Write(buf); err != nil {
				return err
			}
			if _, err := io.ReadFull(c, buf[:answerBytes]); err != nil {
				return err
			}
		}
		return nil
	})
}
