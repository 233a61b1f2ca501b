package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/magiconair/properties"
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
	if _, err := ReadFile(file); err == nil || !strings.HasPrefix(err.Error(), file+":2: ") {
		t.Errorf("bad escape: %v", err)
	}
	if err := os.Truncate(file, maxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(file); err == nil || !strings.Contains(err.Error(), "cannot be one") {
		t.Errorf("huge file: %v", err)
	}
}

// FuzzProperties reads any bytes as a properties file: cutting it into lines must give the same keys and values as the library
// finds in the whole, and Parse must take or refuse them without falling over.
func FuzzProperties(f *testing.F) {
	for _, file := range []string{"testdata/nasty.properties"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(testProperties))
	f.Add([]byte("listeners=A://[::1]:1,B://:2\nlistener.security.protocol.map=A:PLAINTEXT,B:SSL\n"))
	f.Add([]byte("share.auto.offset.reset=by_duration:PT1.5S\n\\\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 || bytes.IndexByte(data, 0) >= 0 {
			return // Java and the library part over NUL
		}
		props, err := parseProperties("f", data)
		loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
		whole, wholeErr := loader.LoadBytes(bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")))
		if err != nil {
			return
		}
		continued := bytes.Contains(data, []byte("\\\n")) || bytes.Contains(data, []byte("\\\r")) || bytes.HasSuffix(data, []byte("\\"))
		if wholeErr == nil && !continued { // nasty.txt holds those against Java itself
			if len(props) != whole.Len() {
				t.Fatalf("%d keys, the library finds %d: %q %q", len(props), whole.Len(), props, whole.Keys())
			}
			for _, p := range props {
				if v, ok := whole.Get(p.Key); !ok || v != p.Value {
					t.Fatalf("%q: %q, the library finds %q (%v)", p.Key, p.Value, v, ok)
				}
			}
		}
		b, _, err := Parse(props)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a word")
			}
			return
		}
		l := Layers{Static: b}
		if len(l.DescribeBroker(true)) < 350 || len(b.Listeners()) == 0 || b.LogDirs() == nil || l.Topic(nil).SegmentBytes < 1<<20 {
			t.Fatalf("half a broker of %q", data)
		}
	})
}
