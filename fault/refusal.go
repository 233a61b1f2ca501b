package fault

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A refusal is the answer to a request, or to the part of it that a rule is about, that says nothing but an error code. Answers
// repeat what requests list, under the same names of fields: each such list is gone through beside the request's, and every
// place for a code gets it.

// refusedMessage is what answers say beside the code where they have room for a sentence.
const refusedMessage = "This error was asked for by a fault rule."

// Values that mean none in an answer with an error, where that is not kmsg's default.
const noOffset = int64(-1)

// mirror makes one refusal.
type mirror struct {
	target *target
	code   int16
}

// refuse answers the part of req that is the target with a code; all of it when the target is everything, or when answers of
// that API have no code for single topics.
func refuse(req kmsg.Request, g *target, code int16) kmsg.Response {
	resp := req.ResponseKind()
	m := mirror{target: g, code: code}
	m.fill(reflect.ValueOf(req).Elem(), reflect.ValueOf(resp).Elem(), g.topic == "" || !singles(resp))
	return resp
}

// singles says whether an answer has a code per topic or partition.
func singles(resp kmsg.Response) bool {
	var visit func(t reflect.Type) bool
	visit = func(t reflect.Type) bool {
		for i := range t.NumField() {
			if f := t.Field(i); isStructs(f.Type) {
				if isTopic(f.Type.Elem()) && holdsCode(f.Type.Elem()) || !isTopic(f.Type.Elem()) && visit(f.Type.Elem()) {
					return true
				}
			}
		}
		return false
	}
	return visit(reflect.TypeOf(resp).Elem())
}

// fill makes dst, a struct of an answer, of src, its counterpart in the request. The codes beside lists are set when whole.
func (m *mirror) fill(src, dst reflect.Value, whole bool) {
	for i := range dst.NumField() {
		field, f := dst.Type().Field(i), dst.Field(i)
		switch {
		case field.Name == "ErrorCode":
			if whole {
				f.SetInt(int64(m.code))
			}
		case field.Name == "ErrorMessage":
			if text := refusedMessage; whole && f.Kind() == reflect.Pointer {
				f.Set(reflect.ValueOf(&text))
			}
		case field.Name == "BaseOffset" || field.Name == "Offset" || field.Name == "EndOffset" || field.Name == "LowWatermark":
			f.SetInt(noOffset)
		case isStructs(f.Type()) && holdsCode(f.Type().Elem()):
			for _, list := range counterparts(src, field.Name) {
				m.list(list, f)
			}
		case field.Name != "Version" && field.Name != "UnknownTags":
			copyField(src, f, field.Name)
		}
	}
}

// list appends to dst, a list of an answer, one element per element of src that is the target's or may hold some of it.
func (m *mirror) list(src, dst reflect.Value) {
	for i := range src.Len() {
		from := src.Index(i)
		element := reflect.New(dst.Type().Elem())
		if d, ok := element.Interface().(interface{ Default() }); ok {
			d.Default()
		}
		if from.Kind() != reflect.Struct {
			if m.scalar(from, element.Elem()) {
				dst.Set(reflect.Append(dst, element.Elem()))
			}
			continue
		}
		topic := isTopic(from.Type())
		if topic && (!m.target.isTarget(from) || !m.target.hasPartition(from)) || isPartition(from.Type()) && !m.target.isPartition(from) {
			continue
		}
		m.fill(from, element.Elem(), topic || isPartition(from.Type()) || m.target.topic == "")
		if m.target.topic == "" || topic || isPartition(from.Type()) || listsAny(element.Elem()) {
			dst.Set(reflect.Append(dst, element.Elem()))
		}
	}
}

// scalar makes an element of a string or a number: a group, a transactional id, a topic, a partition.
func (m *mirror) scalar(from, element reflect.Value) bool {
	if from.Kind() == reflect.Int32 && !m.target.isPartition(from) {
		return false
	}
	m.fill(reflect.ValueOf(struct{}{}), element, true)
	for i := range element.NumField() {
		f, name := element.Field(i), element.Type().Field(i).Name
		switch {
		case from.Kind() == reflect.String && name == topicField && f.Kind() == reflect.Pointer: // DeleteTopics
			if m.target.topic != "" && from.String() != m.target.topic {
				return false
			}
			text := from.String()
			f.Set(reflect.ValueOf(&text))
			return true
		case from.Kind() == f.Kind() && name != "ErrorCode":
			f.Set(from)
			return true
		}
	}
	return false
}

// counterparts finds what a list of an answer repeats: the list of the same name, or one that kmsg calls otherwise, or for topics
// lists inside of another.
func counterparts(src reflect.Value, name string) []reflect.Value {
	var found []reflect.Value
	for _, n := range append([]string{name}, otherNames(name)...) {
		if f := src.FieldByName(n); f.IsValid() && f.Kind() == reflect.Slice && f.Len() > 0 {
			found = append(found, f)
		}
	}
	if len(found) > 0 || name != "Topics" {
		return found
	}
	for i := range src.NumField() {
		if f := src.Field(i); isStructs(f.Type()) {
			for j := range f.Len() {
				if inner := f.Index(j).FieldByName(name); inner.IsValid() && inner.Kind() == reflect.Slice {
					found = append(found, inner)
				}
			}
		}
	}
	return found
}

// otherNames are the names in requests of what an answer lists under another.
func otherNames(name string) []string {
	switch name {
	case "Coordinators":
		return []string{"CoordinatorKeys"}
	case "Topics":
		return []string{"TopicNames"}
	case "Groups":
		return []string{"GroupIDs"}
	case "TransactionStates":
		return []string{"TransactionalIDs"}
	case "Results":
		return []string{"Creations", "Filters", "Users", "Deletions", "Upsertions", "FeatureUpdates"}
	}
	return nil
}

// copyField copies a field of the same name and type, or the name of a user.
func copyField(src, dst reflect.Value, name string) {
	if name == "User" {
		name = "Name"
	}
	if f := src.FieldByName(name); f.IsValid() && f.Type() == dst.Type() {
		dst.Set(f)
	}
}

func isStructs(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

func isPartition(t reflect.Type) bool {
	_, ok := t.FieldByName(partitionField)
	return ok && !isTopic(t)
}

// holdsCode says whether a struct, or what it lists, has a place for an error code.
func holdsCode(t reflect.Type) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "ErrorCode" || isStructs(f.Type) && holdsCode(f.Type.Elem()) {
			return true
		}
	}
	return false
}

// listsAny says whether a struct lists anything.
func listsAny(v reflect.Value) bool {
	for i := range v.NumField() {
		if f := v.Field(i); isStructs(f.Type()) && f.Len() > 0 {
			return true
		}
	}
	return false
}
