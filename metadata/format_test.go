package metadata

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// releaseTable is what kafka-storage.sh version-mapping of Apache Kafka 4.4.0 prints for each release: its level, then those of
// eligible.leader.replicas, group, share, streams and transaction.version.
const releaseTable = `
3.3-IV3 7 0 0 0 0 0
3.4-IV0 8 0 0 0 0 0
3.5-IV0 9 0 0 0 0 0
3.5-IV1 10 0 0 0 0 0
3.5-IV2 11 0 0 0 0 0
3.6-IV0 12 0 0 0 0 0
3.6-IV1 13 0 0 0 0 0
3.6-IV2 14 0 0 0 0 0
3.7-IV0 15 0 0 0 0 0
3.7-IV1 16 0 0 0 0 0
3.7-IV2 17 0 0 0 0 0
3.7-IV3 18 0 0 0 0 0
3.7-IV4 19 0 0 0 0 0
3.8-IV0 20 0 0 0 0 0
3.9-IV0 21 0 0 0 0 0
4.0-IV0 22 0 1 0 0 0
4.0-IV1 23 0 1 0 0 0
4.0-IV2 24 0 1 0 0 2
4.0-IV3 25 0 1 0 0 2
4.1-IV0 26 1 1 0 0 2
4.1-IV1 27 1 1 0 0 2
4.2-IV0 28 1 1 1 0 2
4.2-IV1 29 1 1 1 1 2
4.3-IV0 30 1 1 1 1 2
4.4-IV0 31 1 1 2 1 2
4.4-IV1 32 1 1 2 1 2
4.4-IV2 33 1 1 2 1 2
`

func TestReleaseLevels(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(releaseTable), "\n")
	if len(lines) != len(releaseNames) || len(releaseNames) != int(levelMax-levelMin)+1 {
		t.Fatalf("%d lines, %d names, levels %d to %d", len(lines), len(releaseNames), levelMin, levelMax)
	}
	last := map[string]int16{}
	for _, want := range lines {
		release, _, _ := strings.Cut(want, " ")
		f, err := NewFormat(release, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		l := f.Features
		got := fmt.Sprintf("%s %d %d %d %d %d %d", ReleaseName(f.Level), f.Level, l[featureELR], l["group.version"], l["share.version"],
			l["streams.version"], l["transaction.version"])
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
		short, _, _ := strings.Cut(release, "-")
		last[short] = f.Level
	}
	for release, want := range last {
		for _, name := range []string{release, release + ".0", release + ".17"} {
			if level, ok := releaseLevel(name); level != want || !ok {
				t.Errorf("release %s: level %d, %v; want %d", name, level, ok, want)
			}
		}
	}
	for _, name := range []string{"4", "3.2", "4.5", "4.4-IV3", "4.4-SNAPSHOT", ""} {
		if level, ok := releaseLevel(name); ok {
			t.Errorf("release %q: level %d", name, level)
		}
	}
}

// TestFormatKeepsCredentials: a SCRAM credential is what its password makes of it, by hand or salted before.
func TestFormatKeepsCredentials(t *testing.T) {
	plain, err := ParseScram(`SCRAM-SHA-256=[name=alice,password=pencil,salt="W22ZaJ0SNY7soEsUEjb6gQ=="]`)
	if err != nil {
		t.Fatal(err)
	}
	salted, err := SaltPassword(ScramSHA256, "pencil", plain.Salt, MinScramIterations)
	if err != nil {
		t.Fatal(err)
	}
	again := NewScramCredential(ScramUser{Name: "alice", Mechanism: ScramSHA256}, plain.Salt, salted, MinScramIterations)
	if string(plain.StoredKey) != string(again.StoredKey) || string(plain.ServerKey) != string(again.ServerKey) {
		t.Error("keys of a password and of the same salted password differ")
	}
	random, err := ParseScram("SCRAM-SHA-512=[name=alice,password=pencil]")
	if err != nil || len(random.Salt) != 26 || len(random.StoredKey) != 64 {
		t.Errorf("salt of %d bytes, key of %d, %v", len(random.Salt), len(random.StoredKey), err)
	}
	var refused *FormatError
	old, err := NewFormat("3.4", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.AddCredential(plain); !errors.As(err, &refused) {
		t.Errorf("a credential at level %d: %v", old.Level, err)
	}
}
