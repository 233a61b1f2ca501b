package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// place is where brokers get their directories and ports.
type place struct {
	scratch     string
	first, last int // ports
	next        int
	made        int
}

// instance makes one that has not been started.
func (p *place) instance(of *peer, settings []string) (*instance, error) {
	port, err := p.ports()
	if err != nil {
		return nil, err
	}
	p.made++
	i := &instance{peer: of, dir: filepath.Join(p.scratch, fmt.Sprintf("%s-%d", of.name, p.made)), port: port, settings: settings}
	return i, i.layOut()
}

// ports gives a port with a free one above it.
func (p *place) ports() (int, error) {
	free := func(port int) bool {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		return err == nil && l.Close() == nil
	}
	for range (p.last - p.first) / 2 {
		if p.next < p.first || p.next+1 > p.last {
			p.next = p.first
		}
		port := p.next
		if p.next += 2; free(port) && free(port+1) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no two free ports from %d to %d", p.first, p.last)
}

// errNone says that a broker cannot show a case.
type errNone string

func (e errNone) Error() string { return string(e) }

// caseTime bounds one case of one broker.
const caseTime = 15 * time.Minute

// benchCase is measured on a broker of its own. It fails where the broker did not do what it was asked for.
type benchCase struct {
	name string
	run  func(*trial) error
}

// trial is one case, of one broker, once.
type trial struct {
	ctx       context.Context
	peer      *peer
	name      string
	sizes     sizes
	place     *place
	instances []*instance
	litter    bool // leave the files: they are so many that the next broker would wait for their removal
	figures   []figure
	values    []float64
}

// note puts a figure down.
func (t *trial) note(name, unit, good string, value float64) {
	t.figures, t.values = append(t.figures, figure{Case: t.name, Name: name, Unit: unit, Good: good}), append(t.values, value)
}

// broker starts one on an empty directory.
func (t *trial) broker(settings ...string) (*instance, error) {
	i, err := t.place.instance(t.peer, settings)
	if err != nil {
		return nil, err
	}
	t.instances = append(t.instances, i)
	return i, i.start(t.ctx)
}

// rest lets time pass, for what shows only then.
func (t *trial) rest(d time.Duration) error { return pause(t.ctx, d) }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// until asks again and again, every so often, and fails with the last answer when the time is over.
func until(ctx context.Context, every time.Duration, ask func() error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// end kills what still runs; it was measured already. It gives the processor time that all brokers of the trial have used. Files that are
// litter go with the scratch directory: for a minute ext4 passes over each inode that was deleted when it looks for one for a new file.
func (t *trial) end() (spent time.Duration) {
	for _, i := range t.instances {
		i.kill()
		spent += i.spent
		if !t.litter {
			_ = os.RemoveAll(i.dir)
		}
	}
	return spent
}

// together does something n times at once. It gives the first error, and how many more there were.
func together(n int, do func(k int) error) error {
	errs := make(chan error, n)
	for k := range n {
		go func() { errs <- do(k) }()
	}
	var first error
	more := 0
	for range n {
		switch err := <-errs; {
		case err != nil && first == nil:
			first = err
		case err != nil:
			more++
		}
	}
	if more > 0 {
		return fmt.Errorf("%w (and %d more)", first, more)
	}
	return first
}

// try runs one case on one broker and puts the figures, or why there are none, into the results.
func (r *results) try(ctx context.Context, c benchCase, p *peer, at *place, s sizes) {
	if why := p.lacks[c.name]; why != "" {
		r.none(outcome{Case: c.name, Peer: p.name, Reason: why})
		return
	}
	limited, cancel := context.WithTimeout(ctx, caseTime)
	defer cancel()
	t := &trial{ctx: limited, peer: p, name: c.name, sizes: s, place: at}
	all, own, begun := cpuOfMachine(), ownCPU(), time.Now()
	err := c.run(t)
	wall := time.Since(begun)
	others := cpuOfMachine() - all - (ownCPU() - own) - t.end()
	var none errNone
	verdict := "ok"
	switch {
	case ctx.Err() != nil:
		return // says nothing of the broker
	case errors.As(err, &none):
		verdict = string(none)
		r.none(outcome{Case: c.name, Peer: p.name, Reason: verdict})
	case err != nil:
		verdict = "FAILED: " + err.Error()
		r.none(outcome{Case: c.name, Peer: p.name, Reason: err.Error(), Failed: true})
	}
	fmt.Fprintf(os.Stderr, "%s  %-20s %-14s %6.1f s  %s\n", time.Now().Format(time.TimeOnly), c.name, p.name, time.Since(begun).Seconds(), verdict)
	if err != nil {
		return
	}
	r.Others = append(r.Others, max(0, others.Seconds()/wall.Seconds()/float64(cores())))
	for k, f := range t.figures {
		r.add(f, p.name, t.values[k])
		fmt.Fprintf(os.Stderr, "    %-60s %s %s\n", f.Name, show(t.values[k]), f.Unit)
	}
}
