package main

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// grammar says which options a tool takes, without their dashes: those with a value and those without.
type grammar struct {
	valued, plain []string
}

// arguments are the options of a command line.
type arguments struct {
	values map[string][]string
	rest   []string // what is no option
}

// parse reads args as Kafka's tools do: "--name value" or "--name=value", names cut short where they stay unambiguous.
func (g grammar) parse(args []string) (arguments, error) {
	a := arguments{values: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") || word == "-" {
			a.rest = append(a.rest, word)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		full, takesValue, err := g.option(name)
		if err != nil {
			return a, err
		}
		if takesValue && !given {
			if i+1 == len(args) {
				return a, fmt.Errorf("Option %s requires an argument", full)
			}
			i++
			value = args[i]
		}
		a.values[full] = append(a.values[full], value)
	}
	return a, nil
}

func (g grammar) option(name string) (full string, takesValue bool, err error) {
	var found []string
	for _, n := range g.valued {
		if n == name {
			return n, true, nil
		}
		if strings.HasPrefix(n, name) {
			found, takesValue = append(found, n), true
		}
	}
	for _, n := range g.plain {
		if n == name {
			return n, false, nil
		}
		if strings.HasPrefix(n, name) {
			found, takesValue = append(found, n), false
		}
	}
	switch len(found) {
	case 1:
		return found[0], takesValue, nil
	case 0:
		return "", false, fmt.Errorf("%s is not a recognized option", name)
	}
	sort.Strings(found)
	return "", false, fmt.Errorf("%s is ambiguous: %s", name, strings.Join(found, ", "))
}

func (a arguments) has(name string) bool { return len(a.values[name]) > 0 }

// one is the last value of an option, "" when it is absent.
func (a arguments) one(name string) string {
	if all := a.values[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// number is an option's value as a number.
func (a arguments) number(name string, absent int64) (int64, error) {
	if !a.has(name) {
		return absent, nil
	}
	n, err := strconv.ParseInt(a.one(name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("Cannot parse argument '%s' of option %s", a.one(name), name)
	}
	return n, nil
}

// pairs reads values of the form key=value, several in one value with commas outside of brackets between them.
func pairs(values []string) ([][2]string, error) {
	var all [][2]string
	for _, value := range values {
		for _, part := range splitOutside(value) {
			key, v, ok := strings.Cut(part, "=")
			if !ok {
				return nil, fmt.Errorf("Invalid entity config: all configs to be added must be in the format \"key=val\".")
			}
			all = append(all, [2]string{strings.TrimSpace(key), strings.Trim(strings.TrimSpace(v), "[]")})
		}
	}
	return all, nil
}

// splitOutside splits at commas that stand outside of square brackets.
func splitOutside(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, s[start:])
}

// wrong prints a mistake on the command line and returns the exit code for it.
func (c console) wrong(g grammar, err error) int {
	fmt.Fprintln(c.err, err)
	names := make([]string, 0, len(g.valued)+len(g.plain))
	for _, n := range g.valued {
		names = append(names, "--"+n+" VALUE")
	}
	for _, n := range g.plain {
		names = append(names, "--"+n)
	}
	sort.Strings(names)
	fmt.Fprintln(c.err, "Options: "+strings.Join(names, ", "))
	return 1
}
