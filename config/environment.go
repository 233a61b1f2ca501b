package config

import (
	"slices"
	"strings"
)

// Environment is what the environment says about a broker, as far as container images of Kafka give it a meaning.
type Environment struct {
	// Properties are the settings, in the order of the variables' names; of a setting that stands twice the last counts.
	Properties []Property
	// ClusterID is the id for data directories that have none (CLUSTER_ID); "" leaves it open.
	ClusterID Property
	// CreateTopics lists topics to create at the start (KAFKA_CREATE_TOPICS), as it was given.
	CreateTopics Property
	// RootLogLevel is the level of all loggers that have none of their own (KAFKA_LOG4J_ROOT_LOGLEVEL).
	RootLogLevel Property
	// LogLevels are the levels of single loggers, as name=LEVEL with commas between (KAFKA_LOG4J_LOGGERS).
	LogLevels Property
}

const (
	environmentPrefix = "KAFKA_"
	bitnamiPrefix     = "KAFKA_CFG_"
	environmentSource = "environment variable "
)

// notSettings are the variables that Kafka's image keeps out of server.properties, and those that other images mean something
// else by.
var notSettings = [...]string{
	"KAFKA_VERSION", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_OPTS", "KAFKA_JMX_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS",
	"KAFKA_GC_LOG_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL", "KAFKA_LOG4J_LOGGERS", "KAFKA_TOOLS_LOG4J_LOGLEVEL", "KAFKA_JMX_HOSTNAME",
	"KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID", "KAFKA_ENABLE_KRAFT", "KAFKA_CREATE_TOPICS", "KAFKA_HOME",
	"KAFKA_SSL_KEYSTORE_FILENAME", "KAFKA_SSL_KEY_CREDENTIALS", "KAFKA_SSL_KEYSTORE_CREDENTIALS", "KAFKA_SSL_TRUSTSTORE_FILENAME",
	"KAFKA_SSL_TRUSTSTORE_CREDENTIALS",
}

// ReadEnvironment reads variables, each NAME=value, as the images do. The rules of apache/kafka, measured on its
// KafkaDockerWrapper 4.4.0: KAFKA_ is taken off, letters are made small, then _ becomes a dot, three dots a dash, two dots an
// underscore; so __ stands for _ and ___ for -. The line name=value is then read as one of a properties file, backslashes
// included. Without KAFKA_LISTENERS the listeners are those of KAFKA_ADVERTISED_LISTENERS on all interfaces.
//
// KAFKA_CFG_ goes over that, as in bitnami/kafka, where each _ is a dot and empty values do not count. Secrets of SSL listeners
// are read from files of secretsDir (/etc/kafka/secrets).
func ReadEnvironment(environ []string, secretsDir string) (Environment, error) {
	vars := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	e := Environment{
		ClusterID:    firstVariable(vars, "CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID"),
		CreateTopics: firstVariable(vars, "KAFKA_CREATE_TOPICS"),
		RootLogLevel: firstVariable(vars, "KAFKA_LOG4J_ROOT_LOGLEVEL"),
		LogLevels:    firstVariable(vars, "KAFKA_LOG4J_LOGGERS"),
	}
	advertised := vars["KAFKA_ADVERTISED_LISTENERS"]
	if vars["KAFKA_LISTENERS"] == "" && vars["KAFKA_PROCESS_ROLES"] != "controller" && advertised != "" {
		e.Properties = append(e.Properties, Property{Key: "listeners", Value: everywhere(advertised),
			Source: environmentSource + "KAFKA_ADVERTISED_LISTENERS"})
		delete(vars, "KAFKA_LISTENERS")
	}
	names := make([]string, 0, len(vars))
	for name := range vars {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, environmentPrefix) || strings.HasPrefix(name, bitnamiPrefix) || slices.Contains(notSettings[:], name) {
			continue
		}
		props, err := parseProperties(name, []byte(kafkaKey(name)+"="+vars[name]+"\n"))
		if err != nil {
			return e, &Error{Source: environmentSource + name, Text: malformedEscape, Kind: ErrInvalidConfig}
		}
		e.addVariable(name, props)
	}
	for _, name := range names {
		if strings.HasPrefix(name, bitnamiPrefix) && vars[name] != "" {
			e.addVariable(name, []Property{{Key: bitnamiKey(name), Value: vars[name]}})
		}
	}
	secrets, err := secretsOf(vars, secretsDir)
	e.Properties = append(e.Properties, secrets...)
	return e, err
}

// addVariable adds what a variable says; a nameless setting, of KAFKA_ itself, says nothing.
func (e *Environment) addVariable(name string, props []Property) {
	for _, p := range props {
		if p.Key != "" {
			e.Properties = append(e.Properties, Property{Key: p.Key, Value: p.Value, Source: environmentSource + name})
		}
	}
}

// firstVariable is the first of the variables that says something; its key is the variable.
func firstVariable(vars map[string]string, names ...string) Property {
	for _, name := range names {
		if value := strings.TrimSpace(vars[name]); value != "" {
			return Property{Key: name, Value: value, Source: environmentSource + name}
		}
	}
	return Property{}
}

// kafkaKey is the setting that a variable of apache/kafka means.
func kafkaKey(name string) string {
	key := strings.ToLower(strings.TrimPrefix(name, environmentPrefix))
	key = strings.ReplaceAll(key, "_", ".")
	key = strings.ReplaceAll(key, "...", "-")
	return strings.ReplaceAll(key, "..", "_")
}

// bitnamiKey is the setting that a variable of bitnami/kafka means.
func bitnamiKey(name string) string {
	key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, bitnamiPrefix)), "_", ".")
	key = strings.ReplaceAll(key, "sasl.ssl", "sasl_ssl")
	return strings.ReplaceAll(key, "sasl.plaintext", "sasl_plaintext")
}

// everywhere binds advertised listeners to all interfaces, as the image's script does: what stands between :// and the next colon
// is replaced. An address in brackets is one host here.
func everywhere(advertised string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(advertised, "://")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		out.WriteString("://")
		end := ":"
		if strings.HasPrefix(rest, "[") {
			end = "]:"
		}
		_, port, ok := strings.Cut(rest, end)
		if !ok {
			return out.String() + rest
		}
		out.WriteString("0.0.0.0:")
		advertised = port
	}
}
