package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"minibroker/config"
)

const (
	defaultAddress = "127.0.0.1:9092"
	defaultDataDir = "minibroker-data"
	plaintext      = "PLAINTEXT"
)

// flags is the command line.
type flags struct {
	file      string // server.properties; "" when none is given
	overrides []string
	listen    []string
	advertise []string
	dataDir   string
	readOnly  string // data directories to show without changing them; "" when there are none
	topics    []string
	portsFile string // where to write the addresses of the listeners; "" for nowhere
	version   bool   // print it and do nothing else
	http      string // where to serve metrics, health and profiles; "" for nowhere
	control   string // where to take fault rules; "" for nowhere
	logFormat string // one of logFormats; "" is the first

	env surroundings
}

// add defines the flags that say something about settings.
func (f *flags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringArrayVar(&f.overrides, "override", nil, "set `key=value` over the file; may be repeated")
	set.StringArrayVar(&f.listen, "listen", nil, "bind `HOST:PORT` or NAME://HOST:PORT; may be repeated, no host binds all interfaces, port 0 takes a free one")
	set.StringArrayVar(&f.advertise, "advertise", nil, "tell clients `HOST:PORT` or NAME://HOST:PORT instead; may be repeated")
	set.StringVar(&f.dataDir, "data-dir", "", "keep data in `DIR` (log.dirs; several with commas between them)")
}

// properties gives the settings in the order in which they count, the weakest first: the file, or what stands in for one, the
// environment, the flags.
func (f flags) properties() ([]config.Property, error) {
	var props []config.Property
	var err error
	if f.file != "" {
		props, err = config.ReadFile(f.file)
	} else {
		props, err = f.env.defaults()
	}
	if err != nil {
		return nil, err
	}
	props = append(props, f.env.settings.Properties...)
	props = append(props, missingControllers(props)...)
	overrides, err := f.overridden()
	if err != nil {
		return nil, err
	}
	props = append(props, overrides...)
	if f.dataDir != "" {
		dirs, err := absolute(f.dataDir)
		if err != nil {
			return nil, err
		}
		props = append(props, config.Property{Key: "log.dirs", Value: dirs, Source: "--data-dir"})
	}
	if f.readOnly != "" {
		shown, err := f.readOnlyProperties()
		if err != nil {
			return nil, err
		}
		props = append(props, shown...)
	}
	addresses, err := f.addresses(props)
	if err != nil {
		return nil, err
	}
	return append(props, addresses...), nil
}

// overridden are the settings of --override.
func (f flags) overridden() ([]config.Property, error) {
	var props []config.Property
	for _, o := range f.overrides {
		key, value, ok := strings.Cut(o, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("--override %q: want key=value", o)}
		}
		for flag, given := range map[string]bool{"log.dirs": f.dataDir != "", "listeners": f.listen != nil, "advertised.listeners": f.advertise != nil} {
			if given && key == flag {
				return nil, usageError{fmt.Errorf("--override %s and the flag for it are both given", key)}
			}
		}
		props = append(props, config.Property{Key: key, Value: value, Source: "--override " + key})
	}
	return props, nil
}

// absolute makes the directories of a comma-separated list absolute, so that they do not depend on where the next start is.
func absolute(dirs string) (string, error) {
	list := strings.Split(dirs, ",")
	for i, d := range list {
		abs, err := filepath.Abs(strings.TrimSpace(d))
		if err != nil {
			return "", err
		}
		list[i] = abs
	}
	return strings.Join(list, ","), nil
}

// address is NAME://HOST:PORT.
type address struct{ name, host, port string }

// String is NAME://HOST:PORT.
func (a address) String() string { return a.name + "://" + net.JoinHostPort(a.host, a.port) }

// parseAddress reads HOST:PORT, which gets the name that is passed, or NAME://HOST:PORT.
func parseAddress(flag, s, name string) (address, error) {
	rest := s
	if n, r, ok := strings.Cut(s, "://"); ok {
		name, rest = strings.ToUpper(n), r
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil || port == "" || name == "" {
		err := fmt.Errorf("%s %s: want HOST:PORT or NAME://HOST:PORT", flag, s)
		if strings.HasPrefix(flag, "--") {
			err = usageError{err}
		}
		return address{}, err
	}
	return address{name, host, port}, nil
}

// lookUp gives the value that counts: the last one.
func lookUp(props []config.Property, key string) string {
	for _, p := range slices.Backward(props) {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

func list(s string) []string {
	var out []string
	for _, w := range strings.Split(s, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// addresses turns --listen and --advertise into listeners and advertised.listeners. --listen replaces the listeners of clients
// and leaves the controller's alone; what it binds is advertised as it is, or as localhost when it is all interfaces, unless
// --advertise says otherwise. --advertise alone replaces what the file advertises for its listener.
func (f flags) addresses(props []config.Property) ([]config.Property, error) {
	if f.listen == nil && f.advertise == nil {
		return nil, nil
	}
	controllers := list(lookUp(props, "controller.listener.names"))
	var bound, others []address
	for _, l := range list(lookUp(props, "listeners")) {
		a, err := parseAddress("listeners", l, "")
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(controllers, a.name):
			others = append(others, a)
		default:
			bound = append(bound, a)
		}
	}
	first := plaintext
	if len(bound) > 0 {
		first = bound[0].name
	}
	told, err := f.advertised(props, controllers)
	if err != nil {
		return nil, err
	}
	if f.listen != nil {
		bound, told = nil, nil
		for _, l := range f.listen {
			a, err := parseAddress("--listen", l, first)
			if err != nil {
				return nil, err
			}
			bound, told = append(bound, a), append(told, reachable(a))
		}
	}
	if len(bound) == 0 {
		return nil, usageError{errors.New("--advertise: there is no listener to advertise")}
	}
	for _, s := range f.advertise {
		a, err := parseAddress("--advertise", s, bound[0].name)
		if err != nil {
			return nil, err
		}
		told = append(slices.DeleteFunc(told, func(t address) bool { return t.name == a.name }), a)
	}
	out := []config.Property{{Key: "advertised.listeners", Value: join(told), Source: "--advertise"}}
	if f.listen == nil {
		return out, nil
	}
	out[0].Source = "--listen"
	return append(out, append(f.names(props, bound), config.Property{Key: "listeners", Value: join(append(bound, others...)), Source: "--listen"})...), nil
}

// advertised are the addresses that are advertised without the flags, those of the controller left out.
func (f flags) advertised(props []config.Property, controllers []string) ([]address, error) {
	from := "advertised.listeners"
	if lookUp(props, from) == "" {
		from = "listeners"
	}
	var told []address
	for _, l := range list(lookUp(props, from)) {
		a, err := parseAddress(from, l, "")
		if err != nil {
			return nil, err
		}
		if !slices.Contains(controllers, a.name) {
			told = append(told, a)
		}
	}
	return told, nil
}

// names says PLAINTEXT of the names that --listen brings in, where nothing else says what they are.
func (f flags) names(props []config.Property, bound []address) []config.Property {
	known := list(lookUp(props, "listener.security.protocol.map"))
	pairs := known
	for _, a := range bound {
		named := len(known) == 0 && protocolOf(a.name) == a.name
		if !named && !slices.ContainsFunc(known, func(pair string) bool { return strings.EqualFold(strings.SplitN(pair, ":", 2)[0], a.name) }) {
			pairs = append(pairs, a.name+":"+protocolOf(a.name))
		}
	}
	var out []config.Property
	if len(pairs) > len(known) {
		if len(known) == 0 { // the map that applies without one
			pairs = append(pairs, "PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL")
			for _, c := range list(lookUp(props, "controller.listener.names")) {
				if protocolOf(c) != c {
					pairs = append(pairs, c+":PLAINTEXT")
				}
			}
		}
		out = append(out, config.Property{Key: "listener.security.protocol.map", Value: strings.Join(pairs, ","), Source: "--listen"})
	}
	between := lookUp(props, "inter.broker.listener.name")
	if between != "" && !slices.ContainsFunc(bound, func(a address) bool { return strings.EqualFold(a.name, between) }) {
		out = append(out, config.Property{Key: "inter.broker.listener.name", Value: bound[0].name, Source: "--listen"})
	}
	return out
}

// protocolOf is the protocol of a listener that is named after one, else PLAINTEXT.
func protocolOf(name string) string {
	switch name {
	case "SSL", "SASL_SSL", "SASL_PLAINTEXT":
		return name
	}
	return plaintext
}

// reachable is what clients can be told of a bound address: all interfaces are no address, so this machine stands for them.
func reachable(a address) address {
	if a.host == "" || a.host == "0.0.0.0" || a.host == "::" {
		a.host = "localhost"
	}
	return a
}

func join(list []address) string {
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return strings.Join(out, ",")
}
