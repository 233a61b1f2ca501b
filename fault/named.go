package fault

import (
	"reflect"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests name topics in elements of lists, and partitions in a list inside of those:
//
//	Topics: [{Topic string | TopicID 16 bytes, Partitions: [{Partition int32, ...}] | [int32]}]
//
// Some have such a list inside of another (OffsetFetch: Groups, WriteTxnMarkers: Markers). kmsg calls these fields by the same
// names everywhere, so they are found by name. What takes reflection here runs for requests that a rule is about alone.
const (
	topicField      = "Topic"
	topicIDField    = "TopicID"
	partitionsField = "Partitions"
	partitionField  = "Partition"
	topicNamesField = "TopicNames" // of DeleteTopics up to version 5
)

// target is the topic and partition of a rule.
type target struct {
	topic     string                   // "" is all
	partition *int32                   // nil is all
	nameOf    func(id [16]byte) string // name of a topic with an id, "" when there is none
}

// names says whether requests of an API name topics and partitions.
func names(key int16) (topics, partitions bool) {
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Type.Kind() != reflect.Slice {
				continue
			}
			element := f.Type.Elem()
			if isTopic(element) {
				topics = true
				if _, ok := partitionList(element); ok {
					partitions = true
				}
			} else {
				visit(element)
			}
		}
	}
	visit(reflect.TypeOf(kmsg.RequestForKey(key)).Elem())
	return topics, partitions
}

// isTopic says whether elements of a list are topics.
func isTopic(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	_, byName := t.FieldByName(topicField)
	_, byID := t.FieldByName(topicIDField)
	return byName || byID
}

// partitionList finds the list of partitions of a topic, either of structs with a number or of numbers.
func partitionList(t reflect.Type) (field int, ok bool) {
	f, found := t.FieldByName(partitionsField)
	if !found || f.Type.Kind() != reflect.Slice {
		return 0, false
	}
	element := f.Type.Elem()
	if element.Kind() == reflect.Int32 {
		return f.Index[0], true
	}
	if element.Kind() != reflect.Struct {
		return 0, false
	}
	_, numbered := element.FieldByName(partitionField)
	return f.Index[0], numbered
}

// isTarget says whether an element is the target's topic.
func (g *target) isTarget(topic reflect.Value) bool {
	if g.topic == "" {
		return true
	}
	if f := topic.FieldByName(topicField); f.IsValid() {
		if f.Kind() == reflect.Pointer {
			f = f.Elem() // the zero Value when it is nil
		}
		if f.IsValid() && f.String() == g.topic {
			return true
		}
	}
	f := topic.FieldByName(topicIDField)
	if !f.IsValid() {
		return false
	}
	id, ok := f.Interface().([16]byte)
	return ok && id != [16]byte{} && g.nameOf(id) == g.topic
}

// isPartition says whether an element of a list of partitions is the target's.
func (g *target) isPartition(element reflect.Value) bool {
	if g.partition == nil {
		return true
	}
	if element.Kind() == reflect.Struct {
		element = element.FieldByName(partitionField)
	}
	return int32(element.Int()) == *g.partition
}

// namedIn says whether a request names the target. Metadata without a list asks for all topics.
func (g *target) namedIn(req kmsg.Request) bool {
	if g.topic == "" {
		return true
	}
	if all, ok := req.(*kmsg.MetadataRequest); ok && all.Topics == nil {
		return true
	}
	return g.visit(reflect.ValueOf(req).Elem())
}

func (g *target) visit(v reflect.Value) bool {
	for i := range v.NumField() {
		f := v.Field(i)
		if names, ok := f.Interface().([]string); ok && v.Type().Field(i).Name == topicNamesField && slices.Contains(names, g.topic) {
			return true
		}
		if !isStructs(f.Type()) {
			continue
		}
		topics := isTopic(f.Type().Elem())
		for j := range f.Len() {
			switch {
			case !topics:
				if g.visit(f.Index(j)) {
					return true
				}
			case g.isTarget(f.Index(j)) && g.hasPartition(f.Index(j)):
				return true
			}
		}
	}
	return false
}

// hasPartition says whether a topic's element lists the target's partition.
func (g *target) hasPartition(topic reflect.Value) bool {
	if g.partition == nil {
		return true
	}
	field, ok := partitionList(topic.Type())
	if !ok {
		return false
	}
	list := topic.Field(field)
	for i := range list.Len() {
		if g.isPartition(list.Index(i)) {
			return true
		}
	}
	return false
}
