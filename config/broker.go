package config

import (
	"log/slog"
	"path/filepath"
	"sort"
	"strings"
)

// Broker holds the settings that a broker starts with: Kafka's defaults, what Kafka's shipped properties file sets, and what
// was given. It never changes.
type Broker struct {
	given     map[string]Property // by name; broker.id and node.id stand in for each other
	static    map[string]string   // given, over what the shipped file sets
	values    map[string]value    // every setting, parsed, as it takes effect
	listeners []Listener
}

// Notice is a line for the log about settings that were taken but do not mean here what they mean elsewhere.
type Notice struct {
	Level  slog.Level
	Logger string
	Text   string
	Remedy string // what to do about it; "" where the text says it or nothing needs to be done
}

// Parse makes a Broker of properties; of a key that stands twice the last counts. A wrong value is an *Error with Kafka's text
// and the place. The notices name what is ignored; they are meant for the log.
func Parse(props []Property) (*Broker, []Notice, error) {
	b := &Broker{given: map[string]Property{}}
	for _, p := range props {
		b.given[p.Key] = p
	}
	oldID, hasOldID := b.given["broker.id"]
	if hasOldID {
		b.standIn("node.id", oldID)
	} else if p, ok := b.given["node.id"]; ok {
		b.standIn("broker.id", p)
	}
	b.static = b.layShipped()
	values, err := parseAll(b.static)
	if err != nil {
		return nil, nil, b.locate(err)
	}
	b.values = values
	if b.listeners, err = listenersOf(b); err != nil {
		return nil, nil, b.locate(err)
	}
	if err := b.checkStart(); err != nil {
		return nil, nil, b.locate(err)
	}
	if err := b.checkServed(); err != nil {
		return nil, nil, b.locate(err)
	}
	notices := b.notices(hasOldID)
	for _, name := range onlyOne {
		b.values[name] = int64(1)
	}
	return b, notices, nil
}

func (b *Broker) standIn(name string, p Property) {
	if _, ok := b.given[name]; !ok {
		b.given[name] = Property{Key: name, Value: p.Value, Source: p.Source}
	}
}

// layShipped puts what was given over what the shipped file sets.
func (b *Broker) layShipped() map[string]string {
	static := make(map[string]string, len(b.given)+len(shipped))
	for _, s := range shipped {
		static[s.name] = s.value
	}
	for name, p := range b.given {
		static[name] = p.Value
	}
	if !b.Explicit("inter.broker.listener.name") && (b.Explicit("security.inter.broker.protocol") || b.Explicit("process.roles") || !b.hasPlaintext()) {
		delete(static, "inter.broker.listener.name")
	}
	if !b.Explicit("broker.id") {
		static["broker.id"] = static["node.id"]
	}
	return static
}

// hasPlaintext says whether there is a listener PLAINTEXT, which is what the shipped file names for traffic between brokers.
func (b *Broker) hasPlaintext() bool {
	p, ok := b.given["listeners"]
	if !ok {
		return true
	}
	for _, l := range splitList(trim(p.Value)) {
		if name, _, _ := strings.Cut(l, ":"); strings.EqualFold(name, "PLAINTEXT") {
			return true
		}
	}
	return false
}

// parseAll parses every setting of a broker; of several wrong ones the first in Kafka's order is reported.
func parseAll(static map[string]string) (map[string]value, *Error) {
	values := make(map[string]value, len(brokerSettings))
	var worst *Error
	worstOrder := 0
	for i := range brokerSettings {
		s := &brokerSettings[i]
		if s.dynamicOnly { // what a file says of it does not count, and its default is valid
			values[s.name], _ = s.parse(nil)
			continue
		}
		v, err := s.parse(static)
		if err != nil && (worst == nil || s.order < worstOrder) {
			worst, worstOrder = err, s.order
		}
		values[s.name] = v
	}
	return values, worst
}

// parse gives the setting's value from the texts that are set, or its default; both must keep the rule.
func (s *setting) parse(set map[string]string) (value, *Error) {
	text, ok := set[s.name]
	if !ok && s.unset {
		return nil, nil // a null default keeps the rule of its setting, a test sees to it
	}
	if !ok {
		text = s.def
	}
	v, err := parse(s.name, text, s.typ)
	if err != nil {
		return nil, err
	}
	if list, isList := v.([]string); isList && s.check.kind == validList {
		v = distinct(list)
	}
	if err := s.check.verify(s.name, v); err != nil {
		return nil, err
	}
	return v, nil
}

// locate says where the setting of an error stands.
func (b *Broker) locate(err *Error) error {
	for _, name := range [...]string{err.Name, err.other} {
		if err.Source == "" {
			err.Source = b.given[name].Source
		}
	}
	return err
}

// Explicit says whether the setting was given, not left to a default.
func (b *Broker) Explicit(name string) bool {
	_, ok := b.given[name]
	return ok
}

// Int is the value of an INT or SHORT setting; 0 for null.
func (b *Broker) Int(name string) int { return int(b.Long(name)) }

// Long is the value of a LONG, INT or SHORT setting; 0 for null.
func (b *Broker) Long(name string) int64 { n, _ := b.values[name].(int64); return n }

// Double is the value of a DOUBLE setting.
func (b *Broker) Double(name string) float64 { f, _ := b.values[name].(float64); return f }

// Bool is the value of a BOOLEAN setting.
func (b *Broker) Bool(name string) bool { v, _ := b.values[name].(bool); return v }

// String is the value of a STRING, CLASS or PASSWORD setting; "" for null.
func (b *Broker) String(name string) string { s, _ := b.values[name].(string); return s }

// List is the value of a LIST setting; nil for null.
func (b *Broker) List(name string) []string { return asList(b.values[name]) }

// NodeID is the number of this node.
func (b *Broker) NodeID() int32 { return int32(b.Long("node.id")) }

// LogDirs are the directories of the data, as given: log.dirs, or else log.dir.
func (b *Broker) LogDirs() []string {
	if dirs := b.List("log.dirs"); dirs != nil {
		return dirs
	}
	return b.List("log.dir")
}

// MetadataLogDir is the directory that holds the metadata log: metadata.log.dir, or else the first of LogDirs.
func (b *Broker) MetadataLogDir() string {
	if dir := b.String("metadata.log.dir"); dir != "" {
		return dir
	}
	return b.LogDirs()[0]
}

// Listeners are the listeners in the order in which they are given, the controller's among them.
func (b *Broker) Listeners() []Listener { return b.listeners }

// AbsLogDirs is LogDirs as absolute paths, which is how Kafka names them in its answers.
func (b *Broker) AbsLogDirs() ([]string, error) {
	var dirs []string
	for _, d := range b.LogDirs() {
		abs, err := filepath.Abs(d)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, abs)
	}
	return dirs, nil
}

// givenNames are the names of what was given, sorted.
func (b *Broker) givenNames() []string {
	names := make([]string, 0, len(b.given))
	for name := range b.given {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
