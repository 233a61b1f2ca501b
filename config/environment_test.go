package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEnvironmentAsKafkasImage holds names and values against what KafkaDockerWrapper 4.4.0 made of the same variables, read as
// Kafka reads a properties file.
func TestEnvironmentAsKafkasImage(t *testing.T) {
	for _, c := range []struct{ variable, key, value string }{
		{"KAFKA_NODE_ID=1", "node.id", "1"},
		{"KAFKA_LOG_RETENTION_MS=5", "log.retention.ms", "5"},
		{"KAFKA_A__B=u", "a_b", "u"},
		{"KAFKA_A___B=d", "a-b", "d"},
		{"KAFKA_A____B=4", "a-.b", "4"},
		{"KAFKA_A_____B=5", "a-_b", "5"},
		{"KAFKA_A______B=6", "a--b", "6"},
		{"KAFKA_A_______B=7", "a--.b", "7"},
		{"KAFKA_LISTENER_NAME_KAFKA_SSL_X=y", "listener.name.kafka.ssl.x", "y"},
		{"KAFKA_KAFKA_KAFKA_X=k", "kafka.kafka.x", "k"},
		{"KAFKA_JMX_PORT=9", "jmx.port", "9"},
		{"KAFKA_EMPTY=", "empty", ""},
		{"KAFKA_SPACE=  x ", "space", "x "},
		{`KAFKA_BACK=a\tb\\c`, "back", "a\tb\\c"},
		{"KAFKA_UMLAUT=ä", "umlaut", "Ã¤"},
		{"KAFKA_EQ=a=b:c#d!e", "eq", "a=b:c#d!e"},
		{"KAFKA__LEAD=1", ".lead", "1"},
		{"KAFKA_TRAIL_=2", "trail.", "2"},
		{"KAFKA_TRAIL__=3", "trail_", "3"},
		{"KAFKA_mixedCase=1", "mixedcase", "1"},
		{"KAFKA_.x=1", ".x", "1"},
		// what bitnami/kafka makes of its own
		{"KAFKA_CFG_NUM_PARTITIONS=3", "num.partitions", "3"},
		{"KAFKA_CFG_LISTENER_NAME_SASL_SSL_SCRAM_X=3", "listener.name.sasl_ssl.scram.x", "3"},
	} {
		e, err := ReadEnvironment([]string{c.variable}, "")
		name, _, _ := strings.Cut(c.variable, "=")
		want := []Property{{Key: c.key, Value: c.value, Source: "environment variable " + name}}
		if err != nil || !slices.Equal(e.Properties, want) {
			t.Errorf("%s: %+v, %v; want %+v", c.variable, e.Properties, err, want)
		}
	}
}

func TestVariablesThatAreNoSettings(t *testing.T) {
	environ := []string{"KAFKA_=empty", "kafka_lower=no", "JMX_PORT=8", "CLUSTER_ID=c", "KAFKA_CFG_EMPTY=", "NO_VALUE", "PATH=/bin"}
	for _, name := range notSettings {
		environ = append(environ, name+"=x")
	}
	e, err := ReadEnvironment(environ, "")
	if err != nil || len(e.Properties) != 0 {
		t.Fatalf("%+v, %v", e.Properties, err)
	}
	for _, c := range []struct {
		got  Property
		want string
	}{{e.ClusterID, "c"}, {e.CreateTopics, "x"}, {e.RootLogLevel, "x"}, {e.LogLevels, "x"}} {
		if c.got.Value != c.want || c.got.Source != "environment variable "+c.got.Key {
			t.Errorf("%+v, want %s", c.got, c.want)
		}
	}
}

func TestEnvironmentOfSeveral(t *testing.T) {
	e, err := ReadEnvironment([]string{"KAFKA_NL=one\ntwo.x=three", "KAFKA_CFG_NL=bitnami", "KAFKA_NUM_PARTITIONS=2"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range e.Properties {
		got = append(got, p.Key+"="+p.Value)
	}
	if want := []string{"nl=one", "two.x=three", "num.partitions=2", "nl=bitnami"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := ReadEnvironment([]string{`KAFKA_X=\u12`}, ""); err == nil || !strings.Contains(err.Error(), "environment variable KAFKA_X: Malformed") {
		t.Errorf("a malformed escape: %v", err)
	}
}

func TestListenersOfAdvertisedOnes(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    string // "" for none
	}{
		{[]string{"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092"}, "PLAINTEXT://0.0.0.0:9092"},
		{[]string{"KAFKA_ADVERTISED_LISTENERS=A://h:1,B://i:2", "KAFKA_LISTENERS="}, "A://0.0.0.0:1,B://0.0.0.0:2"},
		{[]string{"KAFKA_ADVERTISED_LISTENERS=A://[::1]:1,B://:2"}, "A://0.0.0.0:1,B://0.0.0.0:2"},
		{[]string{"KAFKA_ADVERTISED_LISTENERS=A://h"}, "A://h"},
		{[]string{"KAFKA_ADVERTISED_LISTENERS=A://h:1", "KAFKA_LISTENERS=A://:2"}, "A://:2"},
		{[]string{"KAFKA_ADVERTISED_LISTENERS=A://h:1", "KAFKA_PROCESS_ROLES=controller"}, ""},
		{[]string{"KAFKA_PROCESS_ROLES=broker"}, ""},
	} {
		e, err := ReadEnvironment(c.environ, "")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range e.Properties {
			if p.Key == "listeners" {
				got = p.Value
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.environ, got, c.want)
		}
	}
}

func TestSecretsOfSSL(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"store.jks": "s", "key": "k\n", "pass": "p w\n\n", "trust.jks": "t", "big": strings.Repeat("x", maxSecretBytes+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base := []string{"KAFKA_LISTENERS=SASL_SSL://:1", "KAFKA_ADVERTISED_LISTENERS=SASL_SSL://h:1", "KAFKA_SSL_KEYSTORE_FILENAME=store.jks",
		"KAFKA_SSL_KEY_CREDENTIALS=key"}
	for _, c := range []struct {
		more []string
		want []string
		err  string
	}{
		{[]string{"KAFKA_SSL_KEYSTORE_CREDENTIALS=pass"}, []string{"ssl.keystore.location=" + dir + "/store.jks", "ssl.key.password=k", "ssl.keystore.password=p w"}, ""},
		{[]string{"KAFKA_SSL_KEYSTORE_CREDENTIALS=pass", "KAFKA_SSL_CLIENT_AUTH=required", "KAFKA_SSL_TRUSTSTORE_FILENAME=trust.jks",
			"KAFKA_SSL_TRUSTSTORE_CREDENTIALS=key"}, []string{"ssl.keystore.location=" + dir + "/store.jks", "ssl.key.password=k", "ssl.keystore.password=p w",
			"ssl.truststore.location=" + dir + "/trust.jks", "ssl.truststore.password=k"}, ""},
		{nil, nil, "KAFKA_SSL_KEYSTORE_CREDENTIALS environment variable not set"},
		{[]string{"KAFKA_SSL_KEYSTORE_CREDENTIALS=absent"}, nil, "does not exist"},
		{[]string{"KAFKA_SSL_KEYSTORE_CREDENTIALS=big"}, nil, "cannot be a password"},
		{[]string{"KAFKA_SSL_KEYSTORE_LOCATION=/x"}, nil, ""},
	} {
		e, err := ReadEnvironment(append(slices.Clone(base), c.more...), dir)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %s", c.more, err, c.err)
			}
			continue
		}
		var got []string
		for _, p := range e.Properties {
			if strings.HasPrefix(p.Key, "ssl.") && p.Key != "ssl.client.auth" && p.Value != "/x" {
				got = append(got, p.Key+"="+p.Value)
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.more, got, err, c.want)
		}
	}
}
