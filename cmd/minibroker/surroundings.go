package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"minibroker/config"
)

// Variables of our own. They stand in for the defaults and are weaker than a file and than KAFKA_*, so that an image can set them
// and leave everything to its users.
const (
	dataDirVariable = "MINIBROKER_DATA_DIR" // instead of ./minibroker-data
	listenVariable  = "MINIBROKER_LISTEN"   // instead of 127.0.0.1:9092
)

// secretsDir is where Kafka's image expects key stores and their passwords.
const secretsDir = "/etc/kafka/secrets"

// sourceDefault is the source of settings that stand in for a file.
const sourceDefault = "default"

// surroundings are the environment variables that matter.
type surroundings struct {
	settings config.Environment
	dataDir  string
	listen   string
}

// readSurroundings reads the environment of the process.
func readSurroundings() (surroundings, error) {
	settings, err := config.ReadEnvironment(os.Environ(), secretsDir)
	return surroundings{settings: settings, dataDir: os.Getenv(dataDirVariable), listen: os.Getenv(listenVariable)}, err
}

// defaults stand in for a file. The listener counts only when the environment has none: an address to bind and one to tell
// clients go together.
func (s surroundings) defaults() ([]config.Property, error) {
	dir := s.dataDir
	if dir == "" {
		dir = defaultDataDir
	}
	dirs, err := absolute(dir)
	if err != nil {
		return nil, err
	}
	props := []config.Property{{Key: "log.dirs", Value: dirs, Source: sourceDefault}}
	if lookUp(s.settings.Properties, "listeners") != "" {
		return props, nil
	}
	listen := s.listen
	if listen == "" {
		listen = defaultAddress
	}
	bound, err := parseAddress(listenVariable, listen, plaintext)
	if err != nil {
		return nil, err
	}
	props = append(props, config.Property{Key: "listeners", Value: bound.String(), Source: sourceDefault})
	if told := reachable(bound); told != bound && lookUp(s.settings.Properties, "advertised.listeners") == "" {
		props = append(props, config.Property{Key: "advertised.listeners", Value: told.String(), Source: sourceDefault})
	}
	return props, nil
}

// missingControllers adds listeners of the controller to listeners that nobody wrote down: Kafka's image, which makes them of the
// advertised ones, does not start then. Nothing is bound for them.
func missingControllers(props []config.Property) []config.Property {
	var listeners, names config.Property
	for _, p := range props {
		switch p.Key {
		case "listeners":
			listeners = p
		case "controller.listener.names":
			names = p
		}
	}
	derived := listeners.Source == sourceDefault || strings.HasSuffix(listeners.Source, " KAFKA_ADVERTISED_LISTENERS")
	if !derived || names.Value == "" {
		return nil
	}
	all := list(listeners.Value)
	port := 9093
	for _, name := range list(names.Value) {
		if slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, name+"://") }) {
			continue
		}
		for slices.ContainsFunc(all, func(l string) bool { return strings.HasSuffix(l, ":"+strconv.Itoa(port)) }) {
			port++
		}
		all = append(all, name+"://"+net.JoinHostPort("0.0.0.0", strconv.Itoa(port)))
	}
	if len(all) == len(list(listeners.Value)) {
		return nil
	}
	return []config.Property{{Key: "listeners", Value: strings.Join(all, ","), Source: listeners.Source}}
}

// startTopics are the topics of --topic and of the environment.
func (f flags) startTopics() ([]config.StartTopic, error) {
	var topics []config.StartTopic
	if given := f.env.settings.CreateTopics; given.Value != "" && f.readOnly == "" {
		var err error
		if topics, err = config.ParseCreateTopics(given.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", given.Source, err)
		}
	}
	for _, s := range f.topics {
		t, err := config.ParseStartTopic(s)
		if err != nil {
			return nil, usageError{fmt.Errorf("--topic: %w", err)}
		}
		topics = append(topics, t)
	}
	return topics, nil
}

// setLevels gives the loggers the levels that the environment asks for, and returns what it asks for in vain.
func (s surroundings) setLevels(levels *loggers) (ignored []string) {
	set := func(source, name, level string) {
		if l, ok := parseLevel(level); ok {
			levels.SetLevel(name, l)
			return
		}
		ignored = append(ignored, fmt.Sprintf("%s: %q is no log level; TRACE, DEBUG, INFO, WARN, ERROR, FATAL and OFF are", source, level))
	}
	if root := s.settings.RootLogLevel; root.Value != "" {
		set(root.Source, rootLogger, root.Value)
	}
	for _, pair := range list(s.settings.LogLevels.Value) {
		name, level, _ := strings.Cut(pair, "=")
		set(s.settings.LogLevels.Source, strings.TrimSpace(name), level)
	}
	return ignored
}

// levelOff lies above every level that is used.
const levelOff = slog.Level(100)

// parseLevel reads a level of log4j.
func parseLevel(s string) (slog.Level, bool) {
	switch strings.ToUpper(strings.TrimSpace(s)) {
	case "ALL", "TRACE":
		return slog.LevelDebug - 4, true
	case "DEBUG":
		return slog.LevelDebug, true
	case "INFO":
		return slog.LevelInfo, true
	case "WARN":
		return slog.LevelWarn, true
	case "ERROR", "FATAL":
		return slog.LevelError, true // nothing here is worse
	case "OFF":
		return levelOff, true
	}
	return 0, false
}
