package minibroker

import (
	"fmt"
	"math"
)

const (
	// mostOpenSegments is how many segments stay open where the process may have as many files as it likes.
	mostOpenSegments = 1024
	// fewDescriptors is a limit below which the start says what it leaves.
	fewDescriptors = 4096
)

// descriptors is what the process may have open, and what of it is for segments and for connections.
type descriptors struct{ limit, segments, connections int }

// divideDescriptors leaves a quarter to segments, of up to three files each, of which twice as many as stay open can be in use while
// fetches are being sent; a sixteenth, 64 at most, to all else; and the rest to connections.
func divideDescriptors(limit int) descriptors {
	d := descriptors{limit: limit, segments: min(max(limit/16, 8), mostOpenSegments)}
	d.connections = max(limit-4*d.segments-min(limit/16, 64), 8)
	if limit == math.MaxInt32 {
		d.connections = 0 // no limit
	}
	return d
}

// tellDescriptors has the log say what a low limit means.
func (b *Broker) tellDescriptors() {
	if d := b.descriptors; d.limit < fewDescriptors {
		b.log.Warn(fmt.Sprintf("The limit of open files is %d, which leaves room for %d connections, beyond which new ones wait, and for %d open segments, beyond which "+
			"files are opened again and again. Raise it with ulimit -n, LimitNOFILE= of a systemd unit or --ulimit nofile= of a container",
			d.limit, d.connections, d.segments), "logger", "kafka.server.BrokerServer")
	}
}
