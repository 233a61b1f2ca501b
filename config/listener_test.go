package config

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestListeners holds what clients of each listener are told, and the objections to listeners, against Kafka's: a row of
// listeners.txt is the settings, put apart by |, the advertised listeners with the one between brokers, and the objection.
func TestListeners(t *testing.T) {
	f, err := os.Open("testdata/listeners.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for scan := bufio.NewScanner(f); scan.Scan(); rows++ {
		columns := strings.Split(scan.Text(), "\t")
		if len(columns) != 3 {
			t.Fatalf("row %d has %d columns", rows+1, len(columns))
		}
		var props []Property
		for _, pair := range strings.Split("process.roles=broker,controller|node.id=1|controller.quorum.voters=1@h:9093|controller.listener.names=CONTROLLER|"+columns[0], "|") {
			key, value, _ := strings.Cut(pair, "=")
			props = append(props, Property{Key: key, Value: value, Source: "server.properties"})
		}
		b, _, err := Parse(props)
		var refused *Error
		switch {
		case errors.As(err, &refused):
			if refused.Text != columns[2] {
				t.Errorf("%s:\n got %q\nwant %q", columns[0], refused.Text, columns[2])
			}
		case err != nil:
			t.Errorf("%s: a %T", columns[0], err)
		case columns[2] != "":
			t.Errorf("%s: accepted, want %q", columns[0], columns[2])
		default:
			if got := told(b); got != columns[1] {
				t.Errorf("%s:\n got %q\nwant %q", columns[0], got, columns[1])
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows", rows)
	}
}

// told is what clients are told of each listener, and which one is between brokers. The name of this machine, which stands for a
// host that is not given, is left out.
func told(b *Broker) string {
	var all []string
	for _, l := range b.Listeners() {
		if host := strings.TrimSuffix(l.AdvertisedHost, ownHost()); l.Advertised && !l.IsController {
			all = append(all, fmt.Sprintf("%s/%s/%s/%d", l.Name, l.Protocol, host, l.AdvertisedPort))
		}
	}
	return strings.Join(all, " ") + "; between " + b.InterBrokerListener()
}
