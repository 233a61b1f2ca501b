package config

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestRules holds parsing and checking of single values against what Kafka's ConfigDef said about the same texts. A row of
// rules.tsv is: table, setting, text, the value as Kafka prints it (\N for none), the objection.
func TestRules(t *testing.T) {
	tables := map[string][]setting{"broker": brokerSettings[:], "topic": topicSettings[:], "group": groupSettings[:], "client-metrics": clientMetricsSettings[:]}
	f, err := os.Open(rulesFile())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\v`, "\v")
	rows := 0
	for scan := bufio.NewScanner(f); scan.Scan(); rows++ {
		cols := strings.Split(scan.Text(), "\t")
		if len(cols) != 5 {
			t.Fatalf("row %d has %d columns", rows+1, len(cols))
		}
		name, text, wantValue, wantError := cols[1], unescape.Replace(cols[2]), cols[3], unescape.Replace(cols[4])
		s := find(tables[cols[0]], name)
		if s == nil {
			t.Errorf("%s: no such setting", name)
			continue
		}
		v, wrong := s.parse(map[string]string{name: text})
		if wrong != nil {
			if wrong.Text != wantError {
				t.Errorf("%s=%q: %q, want %q", name, text, wrong.Text, wantError)
			}
			continue
		}
		if got, ok := show(v); wantError != "" {
			t.Errorf("%s=%q gives %v, want the objection %q", name, text, v, wantError)
		} else if ok != (wantValue != `\N`) || ok && s.typ != TypePassword && got != unescape.Replace(wantValue) {
			t.Errorf("%s=%q gives %q, want %q", name, text, got, wantValue)
		}
	}
	if rows < 1000 {
		t.Errorf("only %d rows", rows)
	}
}

// rulesFile lets a larger recording be tried by hand.
func rulesFile() string {
	if f := os.Getenv("MINIBROKER_RULES"); f != "" {
		return f
	}
	return "testdata/rules.tsv"
}

// TestDefaultsKeepTheirRules is what parse relies on: a default, null included, is never refused.
func TestDefaultsKeepTheirRules(t *testing.T) {
	for _, table := range [][]setting{brokerSettings[:], topicSettings[:], groupSettings[:], clientMetricsSettings[:]} {
		for i := range table {
			s := &table[i]
			if i > 0 && table[i-1].name >= s.name {
				t.Errorf("%s stands after %s", s.name, table[i-1].name)
			}
			if s.unset {
				if err := s.check.verify(s.name, nil); err != nil {
					t.Errorf("%s: null: %v", s.name, err)
				}
				continue
			}
			if _, err := s.parse(nil); err != nil && !s.required {
				t.Errorf("%s: default: %v", s.name, err)
			}
			for _, b := range []string{s.check.min, s.check.max} {
				if _, ok := parseDouble(b); b != "" && !ok {
					t.Errorf("%s: bound %q", s.name, b)
				}
			}
			if s.brokerName != "" && findBroker(s.brokerName) == nil {
				t.Errorf("%s: no setting %s", s.name, s.brokerName)
			}
		}
	}
}
