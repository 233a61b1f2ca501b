package config

import (
	"slices"
	"strings"
)

// Effective is a setting as it takes effect, with the place that it comes from.
type Effective struct {
	Name   string
	Value  string // "null" where there is none, "[hidden]" for what is never shown
	Source string // of the property that was given; else one of the sources below
	Given  bool   // it was given, under this name or one that stands for it
}

// Sources of what was not given.
const (
	sourceDefault = "Kafka's default"
	sourceShipped = "default of Kafka's own server.properties"
	sourceOneNode = "always so on one node"
)

// Effective lists all settings, sorted by name, those that are not Kafka's among them.
func (b *Broker) Effective() []Effective {
	var all []Effective
	for i := range brokerSettings {
		s := &brokerSettings[i]
		given, ok := b.given[s.name]
		if s.dynamicOnly || s.internal && !ok {
			continue
		}
		all = append(all, Effective{Name: s.name, Value: b.shown(s), Source: b.sourceOf(s.name, given.Source), Given: ok})
	}
	for name, p := range b.given {
		if findBroker(name) == nil {
			s := findBrokerOrPrefixed(name)
			value := p.Value
			if s != nil && s.sensitive() {
				value = hidden
			}
			all = append(all, Effective{Name: name, Value: value, Source: p.Source, Given: true})
		}
	}
	slices.SortFunc(all, func(a, b Effective) int { return strings.Compare(a.Name, b.Name) })
	return all
}

const hidden = "[hidden]"

func (b *Broker) shown(s *setting) string {
	text, ok := show(b.values[s.name])
	switch {
	case !ok:
		return "null"
	case s.sensitive():
		return hidden
	}
	return text
}

// sourceOf is where a setting comes from that was given at a place, "" when it was not.
func (b *Broker) sourceOf(name, given string) string {
	switch _, laid := b.static[name]; {
	case slices.Contains(onlyOne[:], name):
		return sourceOneNode
	case given != "":
		return given
	case laid:
		return sourceShipped
	}
	return sourceDefault
}
