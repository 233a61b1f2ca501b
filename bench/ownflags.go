package main

import (
	"flag"
	"os"
)

// ownBroker is the flags of what measures minibroker by itself.
type ownBroker struct {
	program, scratch, ports, docs *string
}

func ownFlags(f *flag.FlagSet, verb, what string) ownBroker {
	return ownBroker{
		program: f.String("with", "", verb+" this program instead of building one"),
		scratch: f.String("scratch", os.TempDir(), "where the data goes"),
		ports:   f.String("ports", "21700-21799", "ports of 127.0.0.1 to take"),
		docs:    f.String("docs", "", "put the "+what+" into this file too, between its marks (docs/benchmarks.md)"),
	}
}

// bed is a place to measure in, once the file of the flags is known to have the marks of a section. The caller removes it.
func (o ownBroker) bed(section string) (*testBed, error) {
	if err := publishable(*o.docs, section); err != nil {
		return nil, err
	}
	b, err := makeBed(*o.scratch, *o.ports)
	if err != nil {
		return nil, err
	}
	b.finder.give = map[string]string{"minibroker": *o.program}
	return b, nil
}
