package config

import (
	"maps"
	"slices"
)

// Source says where a value comes from, with the numbers that DescribeConfigs puts on the wire.
type Source int8

// The sources.
const (
	SourceUnknown Source = iota
	SourceTopic
	SourceDynamicBroker
	SourceDynamicDefaultBroker
	SourceStaticBroker
	SourceDefault
	SourceBrokerLogger
	SourceClientMetrics
	SourceGroup
)

// Entry is one setting as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     *string // nil for null, and for what is never shown
	Type      Type
	Source    Source
	ReadOnly  bool
	Sensitive bool
	IsDefault bool
	Synonyms  []Synonym // all values that compete, the strongest first
	Doc       string    // a sentence for people; "" where there is none
}

// Synonym is one of the values that compete for a setting.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// entry makes an Entry from the competing values; their first one says where the value comes from.
func entry(name string, s *setting, v *string, readOnly bool, synonyms []Synonym) Entry {
	e := Entry{Name: name, Value: v, ReadOnly: readOnly, Source: SourceDefault, Sensitive: s == nil || s.sensitive(), Synonyms: synonyms}
	if s != nil {
		e.Type, e.Doc = s.typ, s.doc
	}
	if e.Sensitive {
		e.Value = nil
	}
	if len(synonyms) > 0 {
		e.Source = synonyms[0].Source
	}
	e.IsDefault = e.Source == SourceDefault
	return e
}

func text(v value) *string {
	s, ok := show(v)
	if !ok {
		return nil
	}
	return &s
}

// DescribeTopic shows every setting of a topic that has these settings of its own, sorted by name.
func (l Layers) DescribeTopic(overrides map[string]string) []Entry {
	var entries []Entry
	for i := range topicSettings {
		s := &topicSettings[i]
		if s.internal && !has(overrides, s.name) {
			continue
		}
		v := text(l.topicValue(s, overrides))
		var synonyms []Synonym
		if has(overrides, s.name) {
			synonyms = append(synonyms, Synonym{Name: s.name, Value: v, Source: SourceTopic})
		}
		if s.brokerName != "" {
			synonyms = append(synonyms, l.synonyms(s.brokerName, s.sensitive())...)
		}
		entries = append(entries, entry(s.name, s, v, false, synonyms))
	}
	return entries
}

// DescribeBroker shows the settings of this node, or (node false) the dynamic settings of all brokers, sorted by name.
func (l Layers) DescribeBroker(node bool) []Entry {
	if !node {
		return l.describeClusterDefault()
	}
	var entries []Entry
	for i := range brokerSettings {
		s := &brokerSettings[i]
		if s.dynamicOnly || s.internal {
			continue
		}
		entries = append(entries, entry(s.name, s, text(l.value(s.name)), s.mode == ReadOnly, l.synonyms(s.name, s.sensitive())))
	}
	for _, name := range l.othersThatAreSet() {
		s := findBrokerOrPrefixed(name)
		own := findBroker(name)
		raw := l.raw(name)
		entries = append(entries, entry(name, s, &raw, own == nil || own.mode == ReadOnly, l.synonyms(name, s == nil || s.sensitive())))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmpStrings(a.Name, b.Name) })
	return entries
}

func cmpStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// othersThatAreSet are names outside of what is always shown: unknown ones, a listener's own, internal and dynamic ones.
func (l Layers) othersThatAreSet() []string {
	names := map[string]bool{}
	for _, set := range [...]map[string]string{l.Static.static, l.ClusterDefault, l.Node} {
		for name := range set {
			if s := findBroker(name); s == nil || s.internal || s.dynamicOnly {
				names[name] = true
			}
		}
	}
	return slices.Collect(maps.Keys(names))
}

// raw is the text of a setting as it was given last.
func (l Layers) raw(name string) string {
	for _, set := range [...]map[string]string{l.Node, l.ClusterDefault} {
		if v, ok := set[name]; ok {
			return v
		}
	}
	return l.Static.static[name]
}

func (l Layers) describeClusterDefault() []Entry {
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(l.ClusterDefault)) {
		s, own := findBrokerOrPrefixed(name), findBroker(name)
		raw := l.ClusterDefault[name]
		synonyms := slices.DeleteFunc(l.synonyms(name, s == nil || s.sensitive()), func(y Synonym) bool { return y.Source != SourceDynamicDefaultBroker })
		entries = append(entries, entry(name, s, &raw, own == nil || own.mode == ReadOnly, synonyms))
	}
	return entries
}

// synonyms lists the values that compete for a broker's setting: this broker's dynamic ones, those of all brokers, the file's,
// the defaults; in each of these the names from strong to weak. As in Kafka the list begins with the setting's own name, so
// that what comes before it is left out.
func (l Layers) synonyms(name string, hidden bool) []Synonym {
	var list []Synonym
	add := func(n, v string, source Source) {
		y := Synonym{Name: n, Source: source}
		if !hidden {
			y.Value = &v
		}
		list = append(list, y)
	}
	names := brokerSynonyms(name)
	layers := [...]struct {
		set    map[string]string
		source Source
	}{{l.Node, SourceDynamicBroker}, {l.ClusterDefault, SourceDynamicDefaultBroker}, {l.Static.static, SourceStaticBroker}}
	for _, layer := range layers {
		for _, n := range names {
			if v, ok := layer.set[n]; ok {
				add(n, v, layer.source)
			}
		}
	}
	for _, n := range names {
		if s := findBroker(n); s != nil && !s.dynamicOnly {
			if v, ok := defaultOf(s); ok {
				add(n, v, SourceDefault)
			}
		}
	}
	first := slices.IndexFunc(list, func(y Synonym) bool { return y.Name == name })
	if first < 0 {
		return nil
	}
	return list[first:]
}
