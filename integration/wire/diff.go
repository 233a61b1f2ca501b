package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// answers holds the lines of one recording.
type answers struct {
	order []string // "script#step"
	lines map[string]map[string]any
}

func loadAnswers(recording io.Reader) (*answers, error) {
	a := &answers{lines: map[string]map[string]any{}}
	in := bufio.NewScanner(recording)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		d := json.NewDecoder(bytes.NewReader(in.Bytes()))
		d.UseNumber()
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			return nil, fmt.Errorf("line %d of a recording: %w", len(a.order)+1, err)
		}
		id := fmt.Sprintf("%v#%v", line["script"], line["step"])
		a.order = append(a.order, id)
		a.lines[id] = line
	}
	return a, in.Err()
}

// compare reports where two decoded JSON values differ.
func compare(path string, a, b any, report func(path, text string)) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			var names []string
			for name := range a {
				names = append(names, name)
			}
			for name := range b {
				if _, ok := a[name]; !ok {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				x, inA := a[name]
				y, inB := b[name]
				at := strings.TrimPrefix(path+"."+name, ".")
				switch {
				case !inB:
					report(at, show(x)+" | nothing")
				case !inA:
					report(at, "nothing | "+show(y))
				default:
					compare(at, x, y, report)
				}
			}
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			for i := range max(len(a), len(b)) {
				at := fmt.Sprintf("%s[%d]", path, i)
				switch {
				case i >= len(b):
					report(at, show(a[i])+" | nothing")
				case i >= len(a):
					report(at, "nothing | "+show(b[i]))
				default:
					compare(at, a[i], b[i], report)
				}
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		report(path, show(a)+" | "+show(b))
	}
}

func show(v any) string {
	b, _ := marshal(v)
	return shorten(string(b))
}

func shorten(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}
