package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// script is a list of steps under one name, "api/what-it-tests".
type script struct {
	name  string
	steps []step
}

// step is one line of a script.
type step struct {
	line     int
	conn     string            // "a" unless given with @
	options  map[string]string // before the verb
	verb     string            // an API name, or one of verbs
	versions []int16
	body     string
	async    bool              // do not read the answer yet
	keep     map[string]string // variable -> path in the answer
}

// verbs are the steps that are no request.
var verbs = map[string]bool{"topic": true, "raw": true, "recv": true, "sleep": true, "close": true, "let": true}

// slug is the script's own prefix for topic and group names.
func (s script) slug() string { return strings.ReplaceAll(s.name, "/", "-") }

func loadScripts(dir fs.FS, patterns []string) ([]script, error) {
	var files []string
	for _, p := range patterns {
		found, err := fs.Glob(dir, p)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	var all []script
	names := map[string]bool{}
	for _, f := range files {
		text, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		list, err := parseScripts(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s:%w", path.Base(f), err)
		}
		for _, s := range list {
			if names[s.name] {
				return nil, fmt.Errorf("%s: two scripts %s", f, s.name)
			}
			names[s.name] = true
		}
		all = append(all, list...)
	}
	return all, nil
}

// parseScripts reads a file: "== name" starts a script, "#" a comment, an indented line goes on with the line before.
func parseScripts(text string) ([]script, error) {
	var all []script
	var line string
	at := 0
	flush := func() error {
		if line == "" {
			return nil
		}
		defer func() { line = "" }()
		if name, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, script{name: strings.TrimSpace(name)})
			return nil
		}
		if len(all) == 0 {
			return fmt.Errorf("%d: step before the first script", at)
		}
		st, err := parseStep(line)
		if err != nil {
			return fmt.Errorf("%d: %w", at, err)
		}
		st.line = at
		all[len(all)-1].steps = append(all[len(all)-1].steps, st)
		return nil
	}
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "#") || strings.TrimSpace(l) == "" {
			continue
		}
		if l[0] == ' ' || l[0] == '\t' {
			line += "\n" + l
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		line, at = l, i+1
	}
	return all, flush()
}

var (
	keepPart    = regexp.MustCompile(`\s=>\s*([a-z0-9_=A-Z.\s]+)$`)
	versionPart = regexp.MustCompile(`^v(\d+)(?:-(\d+))?$`)
)

func parseStep(line string) (step, error) {
	st := step{conn: "a", options: map[string]string{}, keep: map[string]string{}}
	line = strings.TrimSpace(line)
	if m := keepPart.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "raw") {
		line = strings.TrimSpace(line[:len(line)-len(m[0])])
		for _, k := range strings.Fields(m[1]) {
			name, where, ok := strings.Cut(k, "=")
			if !ok {
				return st, fmt.Errorf("no = in %q", k)
			}
			st.keep[name] = where
		}
	}
	if rest, ok := strings.CutSuffix(line, " &"); ok {
		line, st.async = strings.TrimSpace(rest), true
	}
	for {
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		name, value, option := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "@"):
			st.conn = word[1:]
		case option:
			st.options[name] = value
		case word == "own" || word == "timed" || word == "once":
			st.options[word] = "yes"
		case verbs[word]:
			st.verb, st.body = word, rest
			return st, nil
		default:
			st.verb = word
			version, body, _ := strings.Cut(rest, " ")
			m := versionPart.FindStringSubmatch(version)
			if m == nil {
				return st, fmt.Errorf("no version after %s", word)
			}
			low, _ := strconv.ParseInt(m[1], 10, 16)
			high := low
			if m[2] != "" {
				high, _ = strconv.ParseInt(m[2], 10, 16)
			}
			for v := low; v <= high; v++ {
				st.versions = append(st.versions, int16(v))
			}
			if st.body = strings.TrimSpace(body); st.body == "" {
				st.body = "{}"
			}
			_, err := newRequest(word, 0)
			return st, err
		}
		line = rest
	}
}

var keyByName = func() map[string]int16 {
	m := map[string]int16{}
	for k := int16(0); k <= kmsg.MaxKey; k++ {
		if r := kmsg.RequestForKey(k); r != nil {
			m[kmsg.NameForKey(k)] = k
		}
	}
	return m
}()

func newRequest(name string, version int16) (kmsg.Request, error) {
	key, ok := keyByName[name]
	if !ok {
		return nil, fmt.Errorf("no API named %s", name)
	}
	r := kmsg.RequestForKey(key)
	r.SetVersion(version)
	return r, nil
}

// rawBytes builds the bytes of a raw step from words such as
//
//	size i16:18 i32:7 str:name null hex:00ff text:"GET /" zeros:20
//
// "size" stands for the length of all that follows it.
func rawBytes(words string) ([]byte, error) {
	var b []byte
	sizeAt := -1
	be := binary.BigEndian
	for _, m := range rawWord.FindAllStringSubmatch(words, -1) {
		kind, arg := m[1], m[3]
		if m[2] != "" {
			var err error
			if arg, err = strconv.Unquote(m[2]); err != nil {
				return nil, err
			}
		}
		var n int64
		switch kind {
		case "i8", "i16", "i32", "i64", "zeros":
			var err error
			if n, err = strconv.ParseInt(arg, 10, 64); err != nil {
				return nil, err
			}
		}
		switch kind {
		case "size":
			sizeAt = len(b)
			b = append(b, 0, 0, 0, 0)
		case "i8":
			b = append(b, byte(n))
		case "i16":
			b = be.AppendUint16(b, uint16(n))
		case "i32":
			b = be.AppendUint32(b, uint32(n))
		case "i64":
			b = be.AppendUint64(b, uint64(n))
		case "str":
			b = append(be.AppendUint16(b, uint16(len(arg))), arg...)
		case "null":
			b = append(b, 0xff, 0xff)
		case "zeros":
			b = append(b, make([]byte, n)...)
		case "text":
			b = append(b, arg...)
		case "hex":
			h, err := hex.DecodeString(arg)
			if err != nil {
				return nil, err
			}
			b = append(b, h...)
		default:
			return nil, fmt.Errorf("unknown word %s", kind)
		}
	}
	if sizeAt >= 0 {
		be.PutUint32(b[sizeAt:], uint32(len(b)-sizeAt-4))
	}
	return b, nil
}

var rawWord = regexp.MustCompile(`(\w+)(?::(?:("(?:[^"\\]|\\.)*")|(\S+)))?`)
