package server

import (
	"log/slog"
	"time"

	"minibroker/meter"
	"minibroker/protocol"
	"minibroker/quota"
)

const defaultMaxRequestBytes = 100 << 20

// Options are the settings of a Server; zero values mean what each field says.
type Options struct {
	// Logger receives one line per connection that is closed for a fault; nil discards.
	Logger *slog.Logger
	// Handler answers the requests; required.
	Handler Handler
	// Requests counts requests and their times; nil counts nothing.
	Requests *meter.Requests
	// Versions is the table of what is served; required.
	Versions *protocol.Versions
	// MaxRequestBytes bounds a frame (socket.request.max.bytes); 0 is 100 MiB.
	MaxRequestBytes int
	// MaxQueuedBytes bounds the requests that are received and handled at the same
	// time (queued.max.request.bytes), which may be exceeded by one of them; 0 or
	// less is no bound.
	MaxQueuedBytes int64
	// Limits bound connections; SetLimits changes them later.
	Limits Limits
	// MostConnections is how many connections the process has descriptors for; at
	// that accepting waits, whatever the limits say. 0 is no bound.
	MostConnections int
	// RateWindow is the time over which the rate of new connections is taken
	// (quota.window.num, quota.window.size.seconds); zero is Kafka's 11 of a second.
	RateWindow quota.Window
	// IdleTimeout closes connections on which nothing moves for so long, or up
	// to an eighth longer (connections.max.idle.ms); 0 never. A request that is
	// being handled does not count as idle.
	IdleTimeout time.Duration
	// SendBufferBytes and ReceiveBufferBytes set the socket's buffers
	// (socket.send.buffer.bytes, socket.receive.buffer.bytes); 0 or less
	// leaves them to the system.
	SendBufferBytes, ReceiveBufferBytes int

	watchEvery time.Duration // 0 is watchEvery
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxRequestBytes <= 0 {
		o.MaxRequestBytes = defaultMaxRequestBytes
	}
	if o.RateWindow == (quota.Window{}) {
		o.RateWindow = quota.Window{Samples: 11, Size: time.Second}
	}
	if o.watchEvery <= 0 {
		o.watchEvery = watchEvery
	}
	return o
}
