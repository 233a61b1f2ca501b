package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestReadFileAsJava reads a file with every oddity of the format; nasty.txt is what java.util.Properties made of it.
func TestReadFileAsJava(t *testing.T) {
	props, err := ReadFile("testdata/nasty.properties")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range props {
		if _, twice := got[p.Key]; twice {
			t.Errorf("%q stands twice", p.Key)
		}
		got[p.Key] = p.Value
	}
	data, err := os.ReadFile("testdata/nasty.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		quotedKey, quotedValue, _ := strings.Cut(row, "\t")
		key, err := strconv.Unquote(quotedKey)
		if err != nil {
			t.Fatal(err)
		}
		value, err := strconv.Unquote(quotedValue)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := got[key]; !ok || v != value {
			t.Errorf("%q: %q (%v), want %q", key, v, ok, value)
		}
		delete(got, key)
	}
	for key := range got {
		t.Errorf("%q is not there in Java", key)
	}
}

func TestReadFileTellsLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	text := "# one\n\na=1\nlong=x\\\n  y\nb=2\r\na=3\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	props, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []Property{{"a", "3", file + ":7"}, {"long", "xy", file + ":4"}, {"b", "2", file + ":6"}}
	if !slices.Equal(props, want) {
		t.Errorf("%v, want %v", props, want)
	}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadFile(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	file := filepath.Join(dir, "bad")
	if err := os.WriteFile(file, []byte("a=1\nb=\\u12x4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(file); err == nil || err.Error() != file+`:2: Malformed \uxxxx encoding.` {
		t.Errorf("bad escape: %v", err)
	}
	if err := os.Truncate(file, maxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(file); err == nil || !strings.Contains(err.Error(), "cannot be one") {
		t.Errorf("huge file: %v", err)
	}
}

// FuzzProperties reads any bytes as a properties file: what is written down again reads the same, and Parse takes or refuses
// it without falling over.
func FuzzProperties(f *testing.F) {
	data, err := os.ReadFile("testdata/nasty.properties")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(testProperties))
	f.Add([]byte(composeFile))
	f.Add([]byte("listeners=A://[::1]:1,B://:2\nlistener.security.protocol.map=A:PLAINTEXT,B:SSL\n"))
	f.Add([]byte("max.connections.per.ip.overrides=a:1,b\nlog.cleaner.threads=0\n\\\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		props, err := parseProperties("f", data)
		if err != nil {
			return
		}
		again, err := parseProperties("f", writeProperties(props))
		if err != nil || len(again) != len(props) {
			t.Fatalf("%d settings, written down and read again %d (%v)", len(props), len(again), err)
		}
		for i, p := range props {
			if again[i].Key != p.Key || again[i].Value != p.Value {
				t.Fatalf("%q, read again %q", p, again[i])
			}
		}
		checkAnyBroker(t, props)
	})
}

// writeProperties writes settings with every character escaped, in their order.
func writeProperties(props []Property) []byte {
	var out []byte
	escaped := func(s string) {
		for _, u := range utf16.Encode([]rune(s)) {
			out = fmt.Appendf(out, `\u%04x`, u)
		}
	}
	for _, p := range props {
		escaped(p.Key)
		out = append(out, '=')
		escaped(p.Value)
		out = append(out, '\n')
	}
	return out
}

func checkAnyBroker(t *testing.T, props []Property) {
	b, _, err := Parse(props)
	if err != nil {
		if err.Error() == "" {
			t.Fatal("an error without a word")
		}
		return
	}
	l := Layers{Static: b}
	if len(l.DescribeBroker(true)) < 350 || len(b.Listeners()) == 0 || b.LogDirs() == nil || l.Topic(nil).SegmentBytes < 1<<20 {
		t.Fatalf("half a broker of %q", props)
	}
}
