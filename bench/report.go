package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func benchCases() []benchCase {
	return []benchCase{
		{"start", startEmpty}, {"restart", restart}, {"idle", idle}, {"produce", produce}, {"consume", consume},
		{"sync produce", syncProduce}, {"end to end", endToEnd}, {"fan-out", fanOut}, {"small fetches", smallFetches},
		{"connections", connections}, {"topics", topics}, {"partitions", partitions}, {"broker codecs", brokerCodecs},
		{"compaction", compaction}, {"transactions", transactions}, {"groups, classic", classicGroups}, {"groups, new protocol", consumerGroups},
	}
}

// reportFlags are what a report can be asked for.
type reportFlags struct {
	only, peers, scratch, ports, json, from, docs, topics string
	give                                                  map[string]string
	rounds                                                int
	quick, list                                           bool
}

func parseReport(args []string) (o reportFlags, err error) {
	o.give = map[string]string{}
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.StringVar(&o.only, "only", "", "measure only the cases that match this regular expression")
	f.StringVar(&o.peers, "peers", "", "the brokers, with commas between them (all: "+strings.Join(peerNames, ",")+"); further names are builds of minibroker, given by -with")
	f.Func("with", "NAME=PROGRAM: take this program for a broker instead of building it; may be repeated", func(s string) error {
		name, program, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("not NAME=PROGRAM")
		}
		o.give[choose(name)[0]] = program
		return nil
	})
	f.StringVar(&o.scratch, "scratch", os.TempDir(), "where the data goes; 8 GB are needed")
	f.StringVar(&o.ports, "ports", "21700-21799", "ports of 127.0.0.1 to take, two for each start")
	f.StringVar(&o.json, "json", "", "write all values to this file, after each case")
	f.StringVar(&o.from, "from", "", "measure nothing, print what -json wrote to this file")
	f.StringVar(&o.docs, "docs", "", "put the report into this file too, between its marks (docs/benchmarks.md)")
	f.StringVar(&o.topics, "topics", "", "how many topics there are to be in the end, one number or two with a comma between them (1000,5000)")
	f.IntVar(&o.rounds, "rounds", 3, "how often all is done")
	f.BoolVar(&o.quick, "quick", false, "small sizes, which show that everything works; the figures mean nothing")
	f.BoolVar(&o.list, "list", false, "list the cases")
	return o, f.Parse(args)
}

// reportCommand measures and prints.
func reportCommand(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseReport(args)
	if err != nil {
		return err
	}
	if o.list {
		for _, c := range benchCases() {
			fmt.Fprintln(out, c.name)
		}
		return nil
	}
	if err := publishable(o.docs, "report"); err != nil { // before an hour of measuring
		return err
	}
	r := &results{}
	if o.from != "" {
		raw, err := os.ReadFile(o.from)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, r); err != nil {
			return fmt.Errorf("%s: %w", o.from, err)
		}
	} else if err := r.measure(ctx, o); err != nil {
		return err
	}
	text := r.report()
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if err := publish(o.docs, "report", text); err != nil {
		return err
	}
	for _, out := range r.Outcomes {
		if out.Failed && out.Peer == "minibroker" {
			return fmt.Errorf("%s: %s", out.Case, out.Reason)
		}
	}
	return nil
}

// numbers takes numbers that rise, with commas between them.
func numbers(list string) (all []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(all) > 0 && n <= all[len(all)-1] {
			return nil, fmt.Errorf("%q are not numbers that rise", list)
		}
		all = append(all, n)
	}
	return all, nil
}

// measure runs all rounds; in each, the brokers take turns in every case. What is there when it is interrupted stays.
func (r *results) measure(ctx context.Context, o reportFlags) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	bed, err := makeBed(o.scratch, o.ports)
	if err != nil {
		return err
	}
	defer bed.remove()
	bed.finder.give = o.give
	peers, missing, err := bed.finder.peers(ctx, choose(o.peers))
	if err != nil {
		return err
	}
	r.about(bed, o, peers, missing)
	s := fullSizes()
	if o.quick {
		s = quickSizes()
	}
	if o.topics != "" {
		if s.topics, err = numbers(o.topics); err != nil {
			return err
		}
	}
	if err := r.save(o.json); err != nil { // before an hour of measuring
		return err
	}
	begun := time.Now()
	for range o.rounds {
		for _, c := range benchCases() {
			if only.MatchString(c.name) {
				r.turn(ctx, c, peers, bed, s, o)
			}
		}
		if err := r.limits(ctx, bed.scratch, s, only); err != nil && ctx.Err() == nil {
			r.none(outcome{Case: limitCase, Peer: limitPeer, Reason: err.Error(), Failed: true})
		}
	}
	took := fmt.Sprintf("Rounds: %d, in %v.", o.rounds, time.Since(begun).Round(time.Second))
	if ctx.Err() != nil {
		took += " **Interrupted: not all of it is here.**"
	}
	r.About = append(r.About, took)
	return r.save(o.json)
}

// turn measures one case of all brokers, one after the other.
func (r *results) turn(ctx context.Context, c benchCase, peers []*peer, bed *testBed, s sizes, o reportFlags) {
	for _, p := range peers {
		if ctx.Err() != nil {
			return
		}
		r.try(ctx, c, p, &bed.place, s)
		if err := r.save(o.json); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
}

func (r *results) save(path string) error {
	if path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// about puts down where and with what figures are taken.
func (r *results) about(bed *testBed, o reportFlags, peers []*peer, missing []string) {
	r.About = append(r.About, time.Now().UTC().Format("2006-01-02 15:04 UTC")+", "+machine()+".",
		"Built with "+runtime.Version()+"; minibroker is "+bed.version()+". The clients run on the same machine.")
	if o.quick {
		r.About = append(r.About, "**Small sizes: these figures mean nothing.**")
	}
	for _, m := range missing {
		fmt.Fprintln(os.Stderr, "not here:", m)
		r.About = append(r.About, "Not here: "+m+".")
	}
	for _, p := range peers {
		r.Peers = append(r.Peers, p.name)
	}
}

// testBed is what every command needs.
type testBed struct {
	place
	finder finder
}

// makeBed makes the directory in which all happens.
func makeBed(scratch, ports string) (*testBed, error) {
	b := &testBed{}
	if _, err := fmt.Sscanf(ports, "%d-%d", &b.first, &b.last); err != nil || b.last <= b.first {
		return nil, fmt.Errorf("ports %q are not FIRST-LAST", ports)
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("look for the repository: %w", err)
	}
	if b.place.scratch, err = os.MkdirTemp(scratch, "minibroker-bench-"); err != nil {
		return nil, err
	}
	b.finder = finder{bin: filepath.Join(b.place.scratch, "bin"), root: strings.TrimSpace(string(root))}
	return b, os.Mkdir(b.finder.bin, 0o755)
}

func (b *testBed) remove() { _ = os.RemoveAll(b.place.scratch) }

// version is the commit that is measured.
func (b *testBed) version() string {
	out, err := exec.Command("git", "-C", b.finder.root, "describe", "--always", "--dirty").Output()
	if err != nil {
		return "of an unknown commit"
	}
	return "commit " + strings.TrimSpace(string(out))
}
