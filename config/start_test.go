package config

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestStarts holds the checks of a whole file against Kafka's. A row of starts.txt is the settings that differ from
// testProperties, put apart by |, and the objection.
func TestStarts(t *testing.T) {
	f, err := os.Open("testdata/starts.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for scan := bufio.NewScanner(f); scan.Scan(); rows++ {
		settings, want, ok := strings.Cut(scan.Text(), "\t")
		if !ok {
			t.Fatalf("row %d has no second column", rows+1)
		}
		checkStarts(t, settings, want)
	}
	if rows < 100 {
		t.Errorf("only %d rows", rows)
	}
}

func checkStarts(t *testing.T, settings, want string) {
	t.Helper()
	props, err := parseProperties("server.properties", []byte(testProperties))
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range strings.Split(settings, "|") {
		key, value, _ := strings.Cut(pair, "=")
		props = append(props, Property{Key: key, Value: value, Source: "--override " + key})
	}
	_, _, err = Parse(props)
	if err == nil {
		if want != "" {
			t.Errorf("%s: accepted, want %q", settings, want)
		}
		return
	}
	var refused *Error
	if !errors.As(err, &refused) {
		t.Fatalf("%s: a %T", settings, err)
	}
	if refused.Text != want {
		t.Errorf("%s:\n got %q\nwant %q", settings, refused.Text, want)
	}
	if refused.Source == "" {
		t.Errorf("%s: the error does not say where the setting stands", settings)
	}
}
