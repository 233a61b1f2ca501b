package main

import (
	"os"
	"path/filepath"
	"testing"

	"minibroker/config"
)

// kraftFile is a properties file as Kafka 4.x has it, made from the settings that matter here.
const kraftFile = `process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
log.dirs=/tmp/kraft-combined-logs
`

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// told is one listener as a test expects it.
type told struct {
	name, bind string
	port       int
	advertised string
	atPort     int
	controller bool
}

func TestListenersOfCommandLines(t *testing.T) {
	file := writeFile(t, kraftFile)
	controller := told{"CONTROLLER", "", 9093, "localhost", 9093, true}
	for _, c := range []struct {
		what  string
		flags flags
		want  []told
	}{
		{"nothing", flags{}, []told{{"PLAINTEXT", "127.0.0.1", 9092, "127.0.0.1", 9092, false}}},
		{"file", flags{file: file}, []told{{"PLAINTEXT", "", 9092, "localhost", 9092, false}, controller}},
		{"listen", flags{listen: []string{"127.0.0.1:0"}}, []told{{"PLAINTEXT", "127.0.0.1", 0, "127.0.0.1", 0, false}}},
		{"listen on all", flags{listen: []string{"0.0.0.0:19092"}}, []told{{"PLAINTEXT", "0.0.0.0", 19092, "localhost", 19092, false}}},
		{"listen on IPv6", flags{listen: []string{"[::1]:19092"}}, []told{{"PLAINTEXT", "::1", 19092, "::1", 19092, false}}},
		{"listen and advertise", flags{listen: []string{":19092"}, advertise: []string{"kafka.example.com:9"}},
			[]told{{"PLAINTEXT", "", 19092, "kafka.example.com", 9, false}}},
		{"advertise", flags{advertise: []string{"kafka:9"}}, []told{{"PLAINTEXT", "127.0.0.1", 9092, "kafka", 9, false}}},
		{"two names", flags{listen: []string{"host://0.0.0.0:1", "DOCKER://0.0.0.0:2"}, advertise: []string{"DOCKER://kafka:2"}},
			[]told{{"HOST", "0.0.0.0", 1, "localhost", 1, false}, {"DOCKER", "0.0.0.0", 2, "kafka", 2, false}}},
		{"listen over a file", flags{file: file, listen: []string{"127.0.0.1:7"}},
			[]told{{"PLAINTEXT", "127.0.0.1", 7, "127.0.0.1", 7, false}, {"CONTROLLER", "", 9093, hostname(t), 9093, true}}},
		{"advertise over a file", flags{file: file, advertise: []string{"kafka:7"}},
			[]told{{"PLAINTEXT", "", 9092, "kafka", 7, false}, {"CONTROLLER", "", 9093, hostname(t), 9093, true}}},
		{"override", flags{overrides: []string{"listeners=A://:1,B://:2", "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT",
			"advertised.listeners=A://a:1,B://b:2"}}, []told{{"A", "", 1, "a", 1, false}, {"B", "", 2, "b", 2, false}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			props, err := c.flags.properties()
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := config.Parse(props)
			if err != nil {
				t.Fatal(err)
			}
			var got []told
			for _, l := range b.Listeners() {
				if l.Protocol != "PLAINTEXT" {
					t.Errorf("%s has protocol %s", l.Name, l.Protocol)
				}
				got = append(got, told{l.Name, l.Host, l.Port, l.AdvertisedHost, l.AdvertisedPort, l.IsController})
			}
			if len(got) != len(c.want) {
				t.Fatalf("%v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%+v, want %+v", got[i], c.want[i])
				}
			}
		})
	}
}

// hostname is what clients are told of a listener without a host.
func hostname(t *testing.T) string {
	t.Helper()
	b, _, err := config.Parse([]config.Property{{Key: "listeners", Value: "PLAINTEXT://:1"}})
	if err != nil {
		t.Fatal(err)
	}
	return b.Listeners()[0].AdvertisedHost
}

func TestDataDirOfCommandLines(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, kraftFile)
	for _, c := range []struct {
		what  string
		flags flags
		want  []string
	}{
		{"nothing", flags{}, []string{filepath.Join(wd, "minibroker-data")}},
		{"file", flags{file: file}, []string{"/tmp/kraft-combined-logs"}},
		{"flag over file", flags{file: file, dataDir: "x"}, []string{filepath.Join(wd, "x")}},
		{"two", flags{dataDir: "/a, /b"}, []string{"/a", "/b"}},
		{"override", flags{overrides: []string{"log.dirs=/c"}}, []string{"/c"}},
	} {
		props, err := c.flags.properties()
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := config.Parse(props)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.LogDirs(); len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
