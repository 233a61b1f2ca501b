package main

import (
	"io"
	"sync"
	"time"
)

const (
	// gatherAtMost is how many bytes of lines are held back.
	gatherAtMost = 64 << 10
	// gatherFor is how long a line is held back at most.
	gatherFor = 10 * time.Millisecond
)

// gathered writes lines. While it gathers, many go with one write, each soon after it came: a start writes several for each
// partition, and each write is a system call.
type gathered struct {
	w io.Writer

	mu     sync.Mutex
	gather bool
	held   []byte
	late   *time.Timer // runs while there is something held
}

// newGathered gathers from the start.
func newGathered(w io.Writer) *gathered {
	g := &gathered{w: w, gather: true}
	g.late = time.AfterFunc(gatherFor, g.flush)
	return g
}

// Write takes whole lines.
func (g *gathered) Write(lines []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gather {
		return g.w.Write(lines)
	}
	if len(g.held) == 0 {
		g.late.Reset(gatherFor)
	}
	g.held = append(g.held, lines...)
	if len(g.held) >= gatherAtMost {
		return len(lines), g.flushLocked()
	}
	return len(lines), nil
}

func (g *gathered) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.flushLocked() // as with every line, there is nobody to tell
}

func (g *gathered) flushLocked() error {
	if len(g.held) == 0 {
		return nil
	}
	_, err := g.w.Write(g.held)
	g.held = g.held[:0]
	return err
}

// pass writes what is held, and from then on each line by itself.
func (g *gathered) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.late.Stop()
	_ = g.flushLocked()
	g.gather, g.held = false, nil
}
