package server

import (
	"log/slog"
	"math"
	"time"

	"minibroker/protocol"
)

const defaultMaxRequestBytes = 100 << 20

// Options are the settings of a Server; zero values mean what each field says.
type Options struct {
	// Logger receives one line per connection that is closed for a fault; nil discards.
	Logger *slog.Logger
	// Handler answers the requests; required.
	Handler Handler
	// Versions is the table of what is served; required.
	Versions *protocol.Versions
	// MaxRequestBytes bounds a frame (socket.request.max.bytes); 0 is 100 MiB.
	MaxRequestBytes int
	// MaxConnections bounds open connections (max.connections); at the limit
	// accepting waits. 0 is no limit.
	MaxConnections int
	// MaxConnectionsPerIP bounds connections of one address
	// (max.connections.per.ip); more are closed at once. 0 is no limit, less
	// than 0 refuses all that have no override.
	MaxConnectionsPerIP int
	// PerIPOverrides replaces MaxConnectionsPerIP for single addresses
	// (max.connections.per.ip.overrides); here 0 refuses all.
	PerIPOverrides map[string]int
	// IdleTimeout closes connections on which nothing moves for so long, or up
	// to an eighth longer (connections.max.idle.ms); 0 never. A request that is
	// being handled does not count as idle.
	IdleTimeout time.Duration
	// SendBufferBytes and ReceiveBufferBytes set the socket's buffers
	// (socket.send.buffer.bytes, socket.receive.buffer.bytes); 0 or less
	// leaves them to the system.
	SendBufferBytes, ReceiveBufferBytes int
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxRequestBytes <= 0 {
		o.MaxRequestBytes = defaultMaxRequestBytes
	}
	// Kafka's defaults for "no limit": nothing needs to be counted then.
	if o.MaxConnections >= math.MaxInt32 {
		o.MaxConnections = 0
	}
	if o.MaxConnectionsPerIP >= math.MaxInt32 {
		o.MaxConnectionsPerIP = 0
	}
	return o
}
