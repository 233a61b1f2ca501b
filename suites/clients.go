package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// client is a library with the releases of it that are tried. Each is run by a program of ours (scripts/clients) that does five actions.
type client struct {
	Name    string
	Package string
	Script  string
	Env     []string
	Below   release // the newest of which something fails on Apache Kafka 4.4.0; none where there is none to be had
	Oldest  release // of which all works that the client offers
	Newest  release
}

// release is a version and what it needs beside the client's own environment.
type release struct {
	Version string
	Env     []string
	Package string // where it was called otherwise then
}

// actions are what each program does, in the matrix' order.
func actions() []string { return []string{"produce", "consume", "group", "transaction", "admin"} }

// ages names the releases of a client, oldest first.
func (c client) ages() map[string]release {
	all := map[string]release{"below": c.Below, "oldest": c.Oldest, "newest": c.Newest}
	for age, r := range all {
		if r.Version == "" {
			delete(all, age)
		}
	}
	return all
}

// clientSuites are the releases of all clients.
func clientSuites() []suite {
	var all []suite
	for _, c := range clients() {
		for _, age := range []string{"below", "oldest", "newest"} {
			r, ok := c.ages()[age]
			if !ok {
				continue
			}
			name := c.Package
			if r.Package != "" {
				name = r.Package
			}
			all = append(all, suite{
				Name: "client-" + c.Name + "-" + age, Package: name, Version: r.Version, Script: "clients/" + c.Script, Client: c.Name,
				Env: slices.Concat(c.Env, r.Env), Settings: []string{"num.partitions=2"}, Format: actionsOutcome, Limit: 6 * time.Minute, What: age,
			})
		}
	}
	return all
}

// runClients runs the programs of releases that are built, some at a time, against one fresh broker and keeps what came out.
func runClients(releases []suite, b broker, work string) error {
	if len(releases) == 0 {
		return nil
	}
	running, err := b.start(suite{Name: "clients", Settings: releases[0].Settings})
	if err != nil {
		return err
	}
	failures := make([]error, len(releases))
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, s := range releases {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			out, failed := s.script(s.home(work), "run", b.address(), []string{"TOPIC=" + s.Name}, s.Limit)
			o, err := s.Format(out)
			if err == nil && o.total() == 0 {
				err = errors.Join(errors.New("the program said nothing"), failed)
			}
			if err != nil {
				failures[i] = fmt.Errorf("%s: %w", s.Name, err)
				return
			}
			fmt.Printf("%s: %s %s on %s: %d work, %d fail\n", s.Name, s.Package, s.Version, b.Kind, o.Passed, len(o.Failed))
			failures[i] = keep(s, b.Kind, o)
		})
	}
	all.Wait()
	return errors.Join(append(failures, running.stop())...)
}

// atOnce is how many programs run at a time; most of their time they wait.
const atOnce = 4

// actionsOutcome reads lines as linesOutcome does; an action without a line has failed.
func actionsOutcome(text []byte) (outcome, error) {
	o, err := linesOutcome(text)
	if o.total() == 0 {
		return o, err // the program did not begin
	}
	for _, action := range actions() {
		_, failed := o.Failed[action]
		_, skipped := o.Skipped[action]
		if !failed && !skipped && !strings.Contains("\n"+string(text), "\nok "+action+"\n") {
			o.Failed[action] = "the program ended before"
		}
	}
	return o, err
}

// clientMatrix is the table of client libraries, and what does not work in which release.
func clientMatrix() (string, error) {
	var b, notes strings.Builder
	b.WriteString("\n## Client matrix\n\nA program for each library does each action once: the oldest release of which all works on Apache Kafka 4.4.0 that it offers, the newest, and\n" +
		"the one below the oldest, as far as registries have it and it still builds. A cell says what came out on minibroker; where Apache Kafka differs, on both. A release that is not compared yet was found on minibroker alone. A dash: the client has no such call.\n\n" +
		"| library | release | " + strings.Join(actions(), " | ") + " | compared with Kafka |\n| --- | --- |" + strings.Repeat(" --- |", len(actions())+1) + "\n")
	for _, s := range clientSuites() {
		r, err := readResult(s.Name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| `%s` | %s %s |", s.Package, s.Version, s.What)
		_, compared := r.Brokers["kafka"]
		for _, action := range actions() {
			mini, kafka := cell(r, "minibroker", action), cell(r, "kafka", action)
			if compared && mini != kafka {
				mini += " (Kafka: " + kafka + ")"
			}
			fmt.Fprintf(&b, " %s |", mini)
			for _, kind := range []string{"kafka", "minibroker"} {
				words := r.Brokers[kind].Failed[action]
				if words != "" && (kind == "kafka" || r.Brokers["kafka"].Failed[action] == "") {
					fmt.Fprintf(&notes, "| `%s` %s | %s | %s | %s |\n", s.Package, s.Version, action, kind, strings.ReplaceAll(words, "|", "\\|"))
				}
			}
		}
		if compared {
			b.WriteString(" yes |\n")
		} else {
			b.WriteString(" not yet |\n")
		}
	}
	if notes.Len() > 0 {
		b.WriteString("\nWhat fails, in the client's words; those heard from Apache Kafka, where it fails on both:\n\n| release | action | on | words |\n| --- | --- | --- | --- |\n" + notes.String())
	}
	return b.String(), nil
}

// cell says how an action of a release went on a broker.
func cell(r result, kind, action string) string {
	o, ran := r.Brokers[kind]
	_, failed := o.Failed[action]
	_, skipped := o.Skipped[action]
	switch {
	case !ran:
		return "not run yet"
	case failed:
		return "fails"
	case skipped:
		return "–"
	}
	return "works"
}
