package main

import (
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
)

// rootLogger is the logger whose level counts for all that have none of their own.
const rootLogger = "root"

// loggers holds the log levels of the running process: that of root, and those that clients set for single loggers. They
// are forgotten when the process ends, as in Kafka.
type loggers struct {
	lowest atomic.Int64 // the least level that any logger lets through

	mu    sync.RWMutex
	root  slog.Level
	known map[string]bool
	own   map[string]slog.Level
}

// newLoggers knows the loggers that this program writes to.
func newLoggers(root slog.Level) *loggers {
	l := &loggers{root: root, known: map[string]bool{rootLogger: true}, own: map[string]slog.Level{}}
	for _, name := range []string{
		defaultLogger,
		"org.apache.kafka.storage.internals.log.LogManager",
		"kafka.network.DataPlaneAcceptor",
		"kafka.network.SocketServer",
		"kafka.server.BrokerServer",
		"kafka.server.KafkaApis",
		"kafka.server.KafkaConfig",
		"kafka.server.KafkaRaftServer",
		"kafka.server.KafkaServer",
		"org.apache.kafka.coordinator.group.GroupCoordinatorService",
		"org.apache.kafka.coordinator.transaction.TransactionCoordinator",
		"org.apache.kafka.server.BrokerLifecycleManager",
		"org.apache.kafka.server.util.KafkaScheduler",
		"org.apache.kafka.storage.internals.log.LocalLog",
		"org.apache.kafka.storage.internals.log.LogCleaner",
		"org.apache.kafka.storage.internals.log.LogLoader",
		"org.apache.kafka.storage.internals.log.ProducerStateManager",
		"org.apache.kafka.storage.internals.log.UnifiedLog",
	} {
		l.known[name] = true
	}
	l.settleLocked()
	return l
}

// settleLocked finds the lowest level again.
func (l *loggers) settleLocked() {
	lowest := l.root
	for _, level := range l.own {
		lowest = min(lowest, level)
	}
	l.lowest.Store(int64(lowest))
}

// enabled tells whether any logger lets lines of the level through.
func (l *loggers) enabled(level slog.Level) bool { return level >= slog.Level(l.lowest.Load()) }

// lets tells whether the logger lets lines of the level through.
func (l *loggers) lets(logger string, level slog.Level) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if own, ok := l.own[logger]; ok {
		return level >= own
	}
	return level >= l.root
}

// Levels returns the level in force for every logger.
func (l *loggers) Levels() map[string]slog.Level {
	l.mu.RLock()
	defer l.mu.RUnlock()
	levels := make(map[string]slog.Level, len(l.known))
	for name := range l.known {
		levels[name] = l.root
	}
	maps.Copy(levels, l.own)
	return levels
}

// SetLevel gives a logger a level of its own; that of root counts for all that have none.
func (l *loggers) SetLevel(name string, level slog.Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name == rootLogger {
		l.root = level
	} else {
		l.own[name] = level
	}
	l.settleLocked()
}

// UnsetLevel lets a logger follow root again.
func (l *loggers) UnsetLevel(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.own, name)
	l.settleLocked()
}
