package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fields is a JSON object that keeps its order.
type fields []field

type field struct {
	name  string
	value any
}

func (f fields) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, p := range f {
		if i > 0 {
			b = append(b, ',')
		}
		v, err := marshal(p.value)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, p.name), ':'), v...)
	}
	return append(b, '}'), nil
}

// marshal is json.Marshal without the escaping of < and >.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// cluster is what is the same for all scripts of a run.
type cluster struct {
	host, port string
	id         string
	logDir     string
	topics     map[[16]byte]string
}

// normaliser replaces what differs from run to run. One serves one script.
type normaliser struct {
	*cluster
	api       string
	own       string            // when set, list entries of other names are left out
	known     map[string]string // values kept by the script, and their names
	ids       map[string]string // generated ids, and their names
	producers map[int64]string
	codes     []int16 // error codes seen since the last reset
}

func newNormaliser(c *cluster) *normaliser {
	return &normaliser{cluster: c, known: map[string]string{}, ids: map[string]string{}, producers: map[int64]string{}}
}

// response gives the answer as ordered JSON, without fields that have their default value.
func (n *normaliser) response(r kmsg.Response) any {
	n.api, n.codes = kmsg.NameForKey(r.Key()), nil
	n.learnTopics(reflect.ValueOf(r).Elem())
	return n.value("", reflect.ValueOf(r).Elem())
}

// learnTopics notes which topic has which id.
func (n *normaliser) learnTopics(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		id, name := v.FieldByName("TopicID"), v.FieldByName("Topic")
		if id.IsValid() && name.IsValid() && !id.IsZero() && !name.IsZero() {
			if name = reflect.Indirect(name); name.Kind() == reflect.String {
				n.topics[id.Interface().([16]byte)] = name.String()
			}
		}
		for i := range v.NumField() {
			n.learnTopics(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				n.learnTopics(v.Index(i))
			}
		}
	}
}

var errorName = regexp.MustCompile(`^[A-Z_0-9]+`)

func showCode(code int16) string {
	if code == 0 {
		return "0"
	}
	name := "?"
	if err := kerr.ErrorForCode(code); err != nil {
		name = errorName.FindString(err.Error())
	}
	return fmt.Sprintf("%d %s", code, name)
}

func (n *normaliser) value(name string, v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return n.value(name, v.Elem())
	case reflect.Struct:
		return n.structure(v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b := v.Bytes()
			if name == "RecordBatches" || name == "Records" {
				if b == nil {
					return nil
				}
				return showBatches(b, n)
			}
			if b == nil {
				return nil
			}
			if s, ok := showBytes(b).(string); ok {
				return n.text(s)
			}
			return nil
		}
		return n.list(name, v)
	case reflect.Array:
		return n.topicID(v.Interface().([16]byte))
	case reflect.String:
		return n.textField(name, v.String())
	case reflect.Bool:
		return v.Bool()
	case reflect.Float64:
		return v.Float()
	case reflect.Uint16:
		return n.intField(name, int64(v.Uint()))
	}
	return n.intField(name, v.Int())
}

var metadataType = reflect.TypeFor[kmsg.MetadataResponse]()

// alwaysShown are fields that are shown even when they have their default value.
var alwaysShown = map[string]bool{"Partition": true, "ApiKey": true}

func (n *normaliser) structure(v reflect.Value) any {
	t := v.Type()
	plain := reflect.New(t).Elem()
	setDefaults(plain)
	out := fields{}
	for i := range t.NumField() {
		name, f := t.Field(i).Name, v.Field(i)
		if name == "Version" || name == "ThrottleMillis" || name == "UnknownTags" && reflect.DeepEqual(f.Interface(), kmsg.Tags{}) {
			continue
		}
		if name == "UnknownTags" {
			out = append(out, field{name, "present"})
			continue
		}
		if name == "ErrorCode" {
			if t != metadataType { // it has a code of its own only from v13 on
				n.codes = append(n.codes, int16(f.Int()))
			}
			out = append(out, field{name, showCode(int16(f.Int()))})
			continue
		}
		if reflect.DeepEqual(f.Interface(), plain.Field(i).Interface()) && !alwaysShown[name] {
			continue
		}
		out = append(out, field{name, n.value(name, f)})
	}
	return out
}

// keyFields name an element of a list; lists are put in the order of these.
var keyFields = []string{"Topic", "TopicID", "Name", "Group", "GroupID", "ResourceType", "ResourceName", "Key", "Partition",
	"MemberID", "InstanceID", "TransactionalID", "ApiKey", "ProducerID", "NodeID", "Feature", "Source", "Mechanism"}

func (n *normaliser) list(name string, v reflect.Value) any {
	if v.IsNil() && v.Type().Elem().Kind() != reflect.Struct {
		return nil
	}
	type element struct {
		key   string
		value any
	}
	elements := []element{}
	for i := range v.Len() {
		value := n.value(name, v.Index(i))
		key := ""
		if f, ok := value.(fields); ok {
			for _, want := range keyFields {
				for _, have := range f {
					if have.name == want {
						key += fmt.Sprint(have.value) + "\x00"
						if num, ok := have.value.(int64); ok {
							key = key[:len(key)-len(fmt.Sprint(num))-1] + fmt.Sprintf("%06d\x00", num)
						}
					}
				}
			}
			if n.own != "" && !strings.Contains(key, n.own) && ownedLists[name] {
				continue
			}
		}
		elements = append(elements, element{key, value})
	}
	slices.SortStableFunc(elements, func(a, b element) int { return strings.Compare(a.key, b.key) })
	out := []any{}
	for _, e := range elements {
		out = append(out, e.value)
	}
	return out
}

// ownedLists are the lists that the option "own" cuts down to the script's own names.
var ownedLists = map[string]bool{"Topics": true, "Groups": true, "TransactionStates": true, "ConfigResources": true}

func (n *normaliser) intField(name string, v int64) any {
	switch name {
	case "Port":
		if strconv.FormatInt(v, 10) == n.port {
			return "<port>"
		}
		if n.api == "DescribeQuorum" {
			return "<controller port>"
		}
	case "ProducerID", "LastProducerID":
		return n.producer(v)
	case "SubscriptionID":
		return "<number>"
	case "SessionID":
		if v != 0 {
			return "<session>"
		}
	case "TotalBytes", "UsableBytes", "FinalizedFeaturesEpoch", "BrokerEpoch":
		if v > 0 {
			return "<number>"
		}
	case "LogEndOffset", "HighWatermark":
		if n.api == "DescribeQuorum" && v > 0 {
			return "<number>"
		}
	}
	return n.number(v)
}

// number hides readings of the broker's clock.
func (n *normaliser) number(v int64) any {
	now := time.Now().UnixMilli()
	const days = 8 * 24 * 3600 * 1000
	if v > now-days && v < now+days || v < now-days-math.MaxInt64+2*days+days && v > now-math.MaxInt64-days {
		return "<now>"
	}
	return v
}

func (n *normaliser) producer(id int64) any {
	if id < 0 {
		return id
	}
	if n.producers[id] == "" {
		n.producers[id] = fmt.Sprintf("<pid:%d>", len(n.producers)+1)
	}
	return n.producers[id]
}

func (n *normaliser) topicID(id [16]byte) string {
	if id == ([16]byte{}) {
		return "0"
	}
	if name := n.topics[id]; name != "" {
		return "<id of " + name + ">"
	}
	return n.generated("id", hex.EncodeToString(id[:]))
}

func (n *normaliser) generated(kind, s string) string {
	if name := n.known[s]; name != "" {
		return name
	}
	if n.ids[s] == "" {
		n.ids[s] = fmt.Sprintf("<%s:%d>", kind, len(n.ids)+1)
	}
	return n.ids[s]
}

var (
	uuidText   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	base64ID   = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)
	longNumber = regexp.MustCompile(`-?\d{13,19}`)
	producerID = regexp.MustCompile(`(?i)(producer ?id:? ?)(\d+)`)
)

func (n *normaliser) textField(name, s string) any {
	switch name {
	case "Host", "ClientHost":
		if strings.TrimPrefix(s, "/") == n.host {
			return strings.Replace(s, n.host, "<host>", 1)
		}
	case "ClusterID":
		if s == n.id && s != "" {
			return "<cluster>"
		}
	case "Dir":
		if s == n.logDir && s != "" {
			return "<log dir>"
		}
	case "MemberID", "Member":
		if base64ID.MatchString(s) && n.known[s] == "" {
			return n.generated("member", s)
		}
	}
	return n.text(s)
}

// text hides ids, addresses, paths and times inside a message.
func (n *normaliser) text(s string) string {
	for value, name := range n.known {
		s = strings.ReplaceAll(s, value, name)
	}
	for id, name := range n.topics {
		s = strings.ReplaceAll(s, base64.RawURLEncoding.EncodeToString(id[:]), "<id of "+name+">")
	}
	if n.logDir != "" {
		s = strings.ReplaceAll(s, n.logDir, "<log dir>")
	}
	if n.id != "" {
		s = strings.ReplaceAll(s, n.id, "<cluster>")
	}
	s = strings.ReplaceAll(s, n.host+":"+n.port, "<host>:<port>")
	s = uuidText.ReplaceAllStringFunc(s, func(id string) string { return n.generated("uuid", id) })
	s = producerID.ReplaceAllStringFunc(s, func(m string) string {
		parts := producerID.FindStringSubmatch(m)
		id, _ := strconv.ParseInt(parts[2], 10, 64)
		return fmt.Sprint(parts[1], n.producer(id))
	})
	return longNumber.ReplaceAllStringFunc(s, func(m string) string {
		if v, _ := strconv.ParseInt(m, 10, 64); n.number(v) == "<now>" {
			return "<now>"
		}
		return m
	})
}
