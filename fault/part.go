package fault

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// trim takes the target out of a request, so that the rest can be handled. It reports whether there is a rest.
func (g *target) trim(req kmsg.Request) bool {
	if g.topic == "" {
		return false
	}
	removed, left := g.trimStruct(reflect.ValueOf(req).Elem())
	return !removed || left
}

// trimStruct reports whether anything was taken out of the lists of v, and whether they still list anything.
func (g *target) trimStruct(v reflect.Value) (removed, left bool) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.Kind() != reflect.Slice:
		case v.Type().Field(i).Name == topicNamesField:
			names := f.Interface().([]string)
			kept := slices.DeleteFunc(names, func(name string) bool { return name == g.topic })
			removed, left = removed || len(kept) < len(names), left || len(kept) > 0
			f.Set(reflect.ValueOf(kept))
		case isStructs(f.Type()) && isTopic(f.Type().Elem()):
			n := f.Len()
			g.keep(f, g.trimTopic)
			removed, left = removed || f.Len() < n, left || f.Len() > 0
		case isStructs(f.Type()):
			gone := false
			g.keep(f, func(element reflect.Value) bool {
				out, rest := g.trimStruct(element)
				gone = gone || out
				return !out || rest
			})
			removed = removed || gone
			left = left || f.Len() > 0
		}
	}
	return removed, left
}

// trimTopic takes the target's partitions out of a topic; false when the topic as a whole is to go.
func (g *target) trimTopic(topic reflect.Value) bool {
	if !g.isTarget(topic) {
		return true
	}
	field, ok := partitionList(topic.Type())
	if g.partition == nil || !ok {
		return false
	}
	list := topic.Field(field)
	g.keep(list, func(p reflect.Value) bool { return !g.isPartition(p) })
	return list.Len() > 0
}

// keep keeps the elements of a list for which wanted is true.
func (g *target) keep(list reflect.Value, wanted func(reflect.Value) bool) {
	n := 0
	for i := range list.Len() {
		if wanted(list.Index(i)) {
			list.Index(n).Set(list.Index(i))
			n++
		}
	}
	list.Set(list.Slice(0, n))
}

// join puts what was refused into the answer to the rest: elements of the same key are replaced, others are appended. An answer
// that is made while it is encoded is encoded for that.
func join(answer, refused kmsg.Response) (kmsg.Response, error) {
	if reflect.TypeOf(answer) != reflect.TypeOf(refused) {
		made := kmsg.ResponseForKey(answer.Key())
		made.SetVersion(answer.GetVersion())
		if err := made.ReadFrom(answer.AppendTo(nil)); err != nil {
			return nil, fmt.Errorf("answer %s: %w", kmsg.NameForKey(answer.Key()), err)
		}
		answer = made
	}
	joinStruct(reflect.ValueOf(answer).Elem(), reflect.ValueOf(refused).Elem())
	return answer, nil
}

func joinStruct(dst, src reflect.Value) {
	for i := range dst.NumField() {
		if f := dst.Field(i); isStructs(f.Type()) && src.Field(i).Len() > 0 {
			joinList(f, src.Field(i))
		}
	}
}

func joinList(dst, src reflect.Value) {
	for i := range src.Len() {
		from := src.Index(i)
		at := slices.IndexFunc(indices(dst), func(j int) bool { return sameKey(dst.Index(j), from) })
		switch {
		case at < 0:
			dst.Set(reflect.Append(dst, from))
		case listsAny(from) && dst.Index(at).NumField() > 0:
			joinStruct(dst.Index(at), from)
		default:
			dst.Index(at).Set(from)
		}
	}
}

func indices(list reflect.Value) []int {
	all := make([]int, list.Len())
	for i := range all {
		all[i] = i
	}
	return all
}

// sameKey says whether two elements of an answer are about the same thing. A topic that has an id is told by that: the name
// beside it is not sent and may be missing.
func sameKey(a, b reflect.Value) bool {
	if id := a.FieldByName(topicIDField); id.IsValid() && !id.IsZero() {
		return id.Interface() == b.FieldByName(topicIDField).Interface()
	}
	found := false
	for _, name := range [...]string{topicField, partitionField, "Group", "TransactionalID", "ProducerID", "Key"} {
		if f := a.FieldByName(name); f.IsValid() {
			found = true
			if !reflect.DeepEqual(f.Interface(), b.FieldByName(name).Interface()) {
				return false
			}
		}
	}
	return found
}
