package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pieces keeps what each write got.
type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}

// TestGathered: lines are held back for a short while and come in their order, not more than fit; then each goes at once.
func TestGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out pieces
		g := newGathered(&out)
		write := func(lines ...string) {
			t.Helper()
			for _, line := range lines {
				if n, err := fmt.Fprint(g, line); n != len(line) || err != nil {
					t.Fatal(n, err)
				}
			}
		}
		want := func(pieces ...string) {
			t.Helper()
			synctest.Wait()
			g.mu.Lock() // the timer writes too
			defer g.mu.Unlock()
			if strings.Join(out, "|") != strings.Join(pieces, "|") {
				t.Errorf("got %.80q, want %.80q", []string(out), pieces)
			}
			out = nil
		}
		write("a\n", "b\n")
		want()
		time.Sleep(gatherFor)
		want("a\nb\n")
		time.Sleep(5 * gatherFor)
		want()
		write("c\n")
		time.Sleep(gatherFor / 2)
		write("d\n")
		want()
		time.Sleep(gatherFor / 2)
		want("c\nd\n")
		long := strings.Repeat("x", gatherAtMost)
		write("e\n", long)
		want("e\n" + long)
		write("f\n")
		g.pass()
		want("f\n")
		write("g\n", "h\n")
		want("g\n", "h\n")
		g.pass()
		time.Sleep(5 * gatherFor)
		want()
	})
}
