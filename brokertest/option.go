package brokertest

import (
	"fmt"
	"log/slog"
	"strings"

	"minibroker/config"
)

// Option changes what New makes.
type Option func(*settings)

// settings are the options put together.
type settings struct {
	topics   []config.StartTopic
	mistakes []string // in the options
	config   []config.Property
	logLevel slog.Level
	noVerify bool
}

// newSettings puts the defaults under the options. Their order matters: the last value of a setting counts.
func newSettings(options []Option) *settings {
	s := &settings{logLevel: slog.LevelWarn}
	for _, pair := range [][2]string{
		{"group.initial.rebalance.delay.ms", "0"},
		{"offsets.topic.num.partitions", "1"},
		{"transaction.state.log.num.partitions", "1"},
		{"log.cleaner.dedupe.buffer.size", "4194304"},
	} {
		Config(pair[0], pair[1])(s)
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// Topic makes a topic before New returns, with 0 partitions as many as num.partitions says. Configs are settings of topics, each
// as "key=value".
func Topic(name string, partitions int, configs ...string) Option {
	return func(s *settings) {
		t := config.StartTopic{Name: name, Partitions: partitions, Configs: make(map[string]string, len(configs))}
		for _, pair := range configs {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				s.mistakes = append(s.mistakes, fmt.Sprintf("setting %q of topic %s: want key=value", pair, name))
			}
			t.Configs[key] = value
		}
		s.topics = append(s.topics, t)
	}
}

// Config sets one of Kafka's broker settings, such as "auto.create.topics.enable".
func Config(key, value string) Option {
	return func(s *settings) {
		s.config = append(s.config, config.Property{Key: key, Value: value, Source: "brokertest.Config"})
	}
}

// LogLevel writes the broker's log lines from a level on to the test's log; without this option those from warnings on.
func LogLevel(level slog.Level) Option {
	return func(s *settings) { s.logLevel = level }
}

// NoVerify leaves the check of all files out when the test ends, for tests that damage them on purpose.
func NoVerify() Option {
	return func(s *settings) { s.noVerify = true }
}

// properties are the settings of a broker on a port, with its data in dir.
func (s *settings) properties(addr, dir string) []config.Property {
	return append([]config.Property{
		{Key: "log.dirs", Value: dir, Source: "brokertest"},
		{Key: "listeners", Value: "PLAINTEXT://" + addr, Source: "brokertest"},
	}, s.config...)
}
