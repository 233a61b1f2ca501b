package wire

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// runner executes scripts against one broker and writes one line per request.
type runner struct {
	addr string
	out  io.Writer
	*cluster
}

// session is the state of one script while it runs.
type session struct {
	*runner
	script  script
	vars    map[string]string
	norm    *normaliser
	conns   map[string]*conn
	pending map[string][]sent
	number  int
	lacks   bool // the last answer has not what the option "until" asks for
}

type sent struct {
	request     kmsg.Request
	correlation int32
	step        step
	shown       string
	at          time.Time
}

func newRunner(addr string, out io.Writer) (*runner, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	r := &runner{addr: addr, out: out, cluster: &cluster{host: host, port: port, topics: map[[16]byte]string{}}}
	for _, ask := range []string{"Metadata", "DescribeLogDirs"} {
		req, _ := newRequest(ask, 4)
		resp, err := r.ask(req)
		switch resp := resp.(type) {
		case *kmsg.MetadataResponse:
			if resp.ClusterID != nil {
				r.id = *resp.ClusterID
			}
		case *kmsg.DescribeLogDirsResponse:
			if len(resp.Dirs) > 0 {
				r.logDir = resp.Dirs[0].Dir
			}
		}
		if err != nil && ask == "Metadata" {
			return nil, err
		}
	}
	r.findCoordinators()
	return r, nil
}

// findCoordinators makes the broker create its internal topics, which Kafka does on the first such request.
func (r *runner) findCoordinators() {
	for kind := range int8(2) {
		for range 100 {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.SetVersion(3)
			req.CoordinatorKey, req.CoordinatorType = "wire", kind
			resp, err := r.ask(req)
			if err != nil || resp.(*kmsg.FindCoordinatorResponse).ErrorCode != 15 {
				break
			}
			pause(100 * time.Millisecond)
		}
	}
}

// ask sends one request on a connection of its own.
func (r *runner) ask(req kmsg.Request) (kmsg.Response, error) {
	c, err := dial(r.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	id, err := c.send(req, defaultHeader())
	if err != nil {
		return nil, err
	}
	frame, err := c.receive(10 * time.Second)
	if err != nil {
		return nil, err
	}
	resp, _, err := decode(req, frame, id)
	return resp, err
}

func defaultHeader() header {
	id := "wire"
	return header{clientID: &id, tags: []byte{0}}
}

func (r *runner) run(sc script) {
	s := &session{runner: r, script: sc, norm: newNormaliser(r.cluster), vars: map[string]string{"t": sc.slug()},
		conns: map[string]*conn{}, pending: map[string][]sent{}}
	for _, st := range sc.steps {
		s.step(st)
	}
	for _, c := range s.conns {
		c.Close()
	}
}

func (s *session) step(st step) {
	switch st.verb {
	case "let":
		name, text, _ := strings.Cut(st.body, " ")
		expanded, err := s.expand(text)
		if err != nil {
			expanded = text
		}
		s.vars[name] = expanded
	case "sleep":
		ms, _ := strconv.Atoi(st.body)
		pause(time.Duration(ms) * time.Millisecond)
	case "close":
		s.drop(st.conn)
	case "topic":
		if err := s.topic(st); err != nil {
			s.emitAs(fmt.Sprintf("before %d", s.number+1), st, fields{{"req", "topic " + st.body}, {"skipped", "setup: " + s.norm.text(err.Error())}})
		}
	case "raw":
		s.raw(st)
	case "recv":
		s.recv(st)
	default:
		for _, v := range st.versions {
			s.request(st, v)
		}
	}
}

var variable = regexp.MustCompile(`\$[a-z][a-z0-9]*`)

// expand replaces $name by the value of a variable.
func (s *session) expand(text string) (string, error) {
	var missing []string
	out := variable.ReplaceAllStringFunc(text, func(m string) string {
		v, ok := s.vars[m[1:]]
		if !ok {
			missing = append(missing, m)
		}
		return v
	})
	if missing != nil {
		return "", fmt.Errorf("no value for %s", strings.Join(missing, " "))
	}
	return out, nil
}

func (s *session) build(st step, version int16) (kmsg.Request, error) {
	s.vars["v"] = strconv.Itoa(int(version))
	body, err := s.expand(st.body)
	if err != nil {
		return nil, err
	}
	v, err := parseValue(body)
	if err != nil {
		return nil, err
	}
	req, err := newRequest(st.verb, version)
	if err != nil {
		return nil, err
	}
	return req, fill(reflect.ValueOf(req).Elem(), v)
}

var blanks = regexp.MustCompile(`\s+`)

func (s *session) request(st step, version int16) {
	s.number++
	shown := blanks.ReplaceAllString(st.body, " ")
	line := fields{{"api", st.verb}, {"key", keyByName[st.verb]}, {"version", version}, {"req", shown}}
	deadline := time.Now().Add(20 * time.Second)
	for {
		req, err := s.build(st, version)
		if err != nil {
			s.emit(st, append(line, field{"skipped", err.Error()}))
			return
		}
		h := defaultHeader()
		if id, ok := st.options["client"]; ok {
			h.clientID = &id
			if id == "null" {
				h.clientID = nil
			}
		}
		if tags, ok := st.options["tags"]; ok {
			h.tags, _ = hex.DecodeString(tags)
		}
		c, err := s.open(st.conn)
		if err != nil {
			s.emit(st, append(line, field{"skipped", "cannot connect"}))
			return
		}
		at := time.Now()
		correlation, err := c.send(req, h)
		if err != nil {
			s.drop(st.conn)
			s.emit(st, append(line, field{"closed", true}))
			return
		}
		p := sent{req, correlation, st, shown, at}
		if st.async {
			s.pending[st.conn] = append(s.pending[st.conn], p)
			s.emit(st, append(line, field{"sent", true}))
			return
		}
		result := s.answer(st, p)
		if (s.again(st) || s.lacks) && time.Now().Before(deadline) {
			pause(50 * time.Millisecond)
			continue
		}
		s.emit(st, append(line, result...))
		return
	}
}

// again says whether the last answer holds an error code that the step waits out.
// Coordinators that are not ready yet are always waited for, unless the step says "once".
func (s *session) again(st step) bool {
	if st.options["once"] != "" {
		return false
	}
	wait := []int16{14, 15, 16}
	for _, c := range strings.Split(st.options["retry"], ",") {
		if n, err := strconv.Atoi(c); err == nil {
			wait = append(wait, int16(n))
		}
	}
	return slices.ContainsFunc(s.norm.codes, func(c int16) bool { return slices.Contains(wait, c) })
}

// answer reads and shows the answer to p.
func (s *session) answer(st step, p sent) fields {
	s.norm.codes, s.lacks = nil, false
	frame, err := s.conns[st.conn].receive(s.wait(st))
	if err != nil {
		return s.failure(st, err)
	}
	took := time.Since(p.at)
	resp, note, err := decode(p.request, frame, p.correlation)
	if err != nil {
		return fields{{"undecodable", err.Error()}, {"bytes", hex.EncodeToString(frame[min(4, len(frame)):min(64, len(frame))])}}
	}
	for name, where := range p.step.keep {
		s.keep(name, where, reflect.ValueOf(resp))
	}
	if where := p.step.options["until"]; where != "" {
		v, ok := follow(reflect.ValueOf(resp), where)
		s.lacks = !ok || v.IsZero()
	}
	if p.step.options["own"] != "" {
		s.norm.own = s.script.slug()
	}
	out := fields{{"resp", s.norm.response(resp)}}
	s.norm.own = ""
	if note != "" {
		out = append(out, field{"note", note})
	}
	if p.step.options["timed"] != "" {
		out = append(out, field{"took", fmt.Sprintf("%ds", int(took.Seconds()))})
	}
	return out
}

func (s *session) wait(st step) time.Duration {
	if ms, err := strconv.Atoi(st.options["wait"]); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return 10 * time.Second
}

func (s *session) failure(st step, err error) fields {
	switch {
	case errors.Is(err, errSilent):
		if st.options["wait"] == "" { // an answer was due; what comes later would be mistaken for another one
			s.drop(st.conn)
		}
		return fields{{"silent", true}}
	case errors.Is(err, errClosed):
		s.drop(st.conn)
		return fields{{"closed", true}}
	}
	s.drop(st.conn)
	return fields{{"undecodable", err.Error()}}
}

// follow goes along a path such as Topics.0.TopicID.
func follow(v reflect.Value, where string) (reflect.Value, bool) {
	for _, part := range strings.Split(where, ".") {
		if v = reflect.Indirect(v); !v.IsValid() {
			return v, false
		}
		if i, err := strconv.Atoi(part); err == nil {
			if v.Kind() != reflect.Slice || i >= v.Len() {
				return v, false
			}
			v = v.Index(i)
		} else if v = v.FieldByName(part); !v.IsValid() {
			return v, false
		}
	}
	return v, true
}

// keep stores a part of an answer in a variable.
func (s *session) keep(name, where string, v reflect.Value) {
	v, ok := follow(v, where)
	if !ok {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Array:
		id := v.Interface().([16]byte)
		s.vars[name] = hex.EncodeToString(id[:])
	case reflect.String:
		if s.vars[name] = v.String(); len(v.String()) > 5 {
			s.norm.known[v.String()] = "<" + name + ">"
		}
	case reflect.Slice:
		s.vars[name] = "hex:" + hex.EncodeToString(v.Bytes())
	default:
		s.vars[name] = strconv.FormatInt(v.Int(), 10)
	}
}

// topic creates a topic for use by the script: "topic NAME PARTITIONS [config=value ...]".
// It returns when the broker shows a leader for every partition, and sets $id.
func (s *session) topic(st step) error {
	body, err := s.expand(st.body)
	if err != nil {
		return err
	}
	words := strings.Fields(body)
	count, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(5)
	create.TimeoutMillis = 10000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = words[0], int32(count), 1
	for _, w := range words[2:] {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		name, value, _ := strings.Cut(w, "=")
		c.Name, c.Value = name, &value
		t.Configs = append(t.Configs, c)
	}
	create.Topics = append(create.Topics, t)
	if resp, err := s.ask(create); err != nil {
		return err
	} else if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 {
		return errors.New(showCode(code))
	}
	for range 100 {
		ask := kmsg.NewPtrMetadataRequest()
		ask.SetVersion(10)
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = &words[0]
		ask.Topics = append(ask.Topics, mt)
		resp, err := s.ask(ask)
		if err != nil {
			return err
		}
		got := resp.(*kmsg.MetadataResponse).Topics[0]
		ready := got.ErrorCode == 0 && len(got.Partitions) == count
		for _, p := range got.Partitions {
			ready = ready && p.ErrorCode == 0 && p.Leader >= 0
		}
		if ready {
			s.topics[got.TopicID] = words[0]
			s.keep("id", "TopicID", reflect.ValueOf(&got))
			for name, where := range st.keep {
				s.keep(name, where, reflect.ValueOf(&got))
			}
			if ready, err = s.led(words[0], count); err != nil || ready {
				return err
			}
		}
		pause(50 * time.Millisecond)
	}
	return errors.New("no leader")
}

// led says whether the broker serves all partitions of a topic; metadata may show a leader before it does.
func (s *session) led(topic string, count int) (bool, error) {
	ask := kmsg.NewPtrListOffsetsRequest()
	ask.SetVersion(5)
	ask.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for p := range count {
		lp := kmsg.NewListOffsetsRequestTopicPartition()
		lp.Partition, lp.Timestamp = int32(p), -1
		t.Partitions = append(t.Partitions, lp)
	}
	ask.Topics = append(ask.Topics, t)
	resp, err := s.ask(ask)
	if err != nil {
		return false, err
	}
	for _, p := range resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			return false, nil
		}
	}
	return true, nil
}

func (s *session) raw(st step) {
	s.number++
	line := fields{{"api", "raw"}, {"req", blanks.ReplaceAllString(st.body, " ")}}
	body, err := s.expand(st.body)
	if err == nil {
		var b []byte
		if b, err = rawBytes(body); err == nil {
			var c *conn
			if c, err = s.open(st.conn); err == nil {
				c.Write(b)
				s.emit(st, append(line, field{"sent", true}))
				return
			}
		}
	}
	s.emit(st, append(line, field{"skipped", err.Error()}))
}

// recv reads an answer: to the oldest pending request, "recv raw", or "recv API vN" after a raw step.
func (s *session) recv(st step) {
	s.number++
	line := fields{{"api", "raw"}, {"req", strings.TrimSpace("recv " + st.body)}}
	if _, err := s.open(st.conn); err != nil {
		s.emit(st, append(line, field{"skipped", "cannot connect"}))
		return
	}
	name, version, _ := strings.Cut(st.body, " ")
	switch {
	case name == "":
		queue := s.pending[st.conn]
		if len(queue) == 0 {
			s.emit(st, append(line, field{"skipped", "nothing pending"}))
			return
		}
		p := queue[0]
		s.pending[st.conn] = queue[1:]
		line = fields{{"api", p.step.verb}, {"key", p.request.Key()}, {"version", p.request.GetVersion()}, {"req", "answer to " + p.shown}}
		result := s.answer(step{conn: st.conn, options: st.options}, p)
		s.emit(st, append(line, result...))
	case name == "raw":
		frame, err := s.conns[st.conn].receive(s.wait(st))
		if err != nil {
			s.emit(st, append(line, s.failure(st, err)...))
			return
		}
		s.emit(st, append(line, field{"bytes", hex.EncodeToString(frame)}))
	default:
		v, err := strconv.ParseInt(strings.TrimPrefix(version, "v"), 10, 16)
		req, err2 := newRequest(name, int16(v))
		if err = errors.Join(err, err2); err != nil {
			s.emit(st, append(line, field{"skipped", err.Error()}))
			return
		}
		frame, err := s.conns[st.conn].receive(s.wait(st))
		if err != nil {
			s.emit(st, append(line, s.failure(st, err)...))
			return
		}
		if len(frame) < 4 {
			s.emit(st, append(line, field{"bytes", hex.EncodeToString(frame)}))
			return
		}
		correlation := int32(binary.BigEndian.Uint32(frame))
		line = append(line, field{"correlation", correlation})
		resp, note, err := decode(req, frame, correlation)
		if err != nil {
			s.emit(st, append(line, field{"undecodable", err.Error()}, field{"bytes", hex.EncodeToString(frame[4:min(64, len(frame))])}))
			return
		}
		for name, where := range st.keep {
			s.keep(name, where, reflect.ValueOf(resp))
		}
		if st.options["own"] != "" {
			s.norm.own = s.script.slug()
		}
		line = append(line, field{"resp", s.norm.response(resp)})
		s.norm.own = ""
		if note != "" {
			line = append(line, field{"note", note})
		}
		s.emit(st, line)
	}
}

func (s *session) open(name string) (*conn, error) {
	if c := s.conns[name]; c != nil {
		return c, nil
	}
	c, err := dial(s.addr)
	if err == nil {
		s.conns[name] = c
	}
	return c, err
}

func (s *session) drop(name string) {
	if c := s.conns[name]; c != nil {
		c.Close()
		delete(s.conns, name)
		delete(s.pending, name)
	}
}

func (s *session) emit(st step, line fields) { s.emitAs(s.number, st, line) }

func (s *session) emitAs(number any, st step, line fields) {
	full := append(fields{{"script", s.script.name}, {"step", number}}, line...)
	if st.conn != "a" {
		full = append(full, field{"conn", st.conn})
	}
	b, err := marshal(full)
	if err != nil {
		b = []byte(strconv.Quote(err.Error())) // no line of a recording
	}
	fmt.Fprintf(s.out, "%s\n", b)
}

// pause is for steps whose point is that time passes, and between two tries.
func pause(d time.Duration) { <-time.After(d) }
