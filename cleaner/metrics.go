package cleaner

import (
	"path/filepath"
	"time"

	"minibroker/logstore"
)

// Metrics are numbers on the cleaner at one moment. Those that Kafka has, too,
// bear the names of its beans: kafka.log:type=LogCleaner,name=... and
// kafka.log:type=LogCleanerManager,name=...; they were read out of the classes
// of Apache Kafka 4.4.0.
type Metrics struct {
	// LogCleaner, of the last pass of each thread:
	MaxBufferUtilizationPercent int // max-buffer-utilization-percent: how full the offset map was
	CleanerRecopyPercent        int // cleaner-recopy-percent: bytes written for those read
	MaxCleanTimeSecs            int // max-clean-time-secs: how long a pass took
	MaxCompactionDelaySecs      int // max-compaction-delay-secs: by how much max.compaction.lag.ms was missed
	DeadThreadCount             int // DeadThreadCount: a thread that dies takes the process along, so 0

	// LogCleanerManager:
	MaxDirtyPercent    int   // max-dirty-percent: dirty part of the log that has most of it
	TimeSinceLastRunMs int64 // time-since-last-run-ms: since a thread looked for work
	// Uncleanable is, by log directory, what was set aside; a directory without
	// such partitions is missing.
	Uncleanable map[string]Uncleanable

	// Kafka has no numbers of these; they count since the cleaner was made.
	Passes       int64 // that came to their end
	BytesRead    int64 // of the segments that were copied from
	BytesWritten int64 // of those copied to
	RecordsRead  int64
	RecordsKept  int64
}

// Uncleanable is about the partitions of a log directory that are left alone
// until restart.
type Uncleanable struct {
	Partitions int   // uncleanable-partitions-count
	Bytes      int64 // uncleanable-bytes: that would be cleaned
}

// tally is what Metrics is made of. Cleaner.mu guards it.
type tally struct {
	lastRun time.Time
	dirty   float64          // of the log that is dirtiest
	last    map[int]lastPass // by thread
	total   lastPass         // seconds, utilization and delay unused
	passes  int64
}

// lastPass is what a thread's last pass did.
type lastPass struct {
	seconds, utilization float64
	delayMs              int64
	bytesIn, bytesOut    int64
	recordsIn            int64
	recordsOut           int64
}

// looked notes that a thread looked for work and how dirty the dirtiest log is.
func (c *Cleaner) looked(now time.Time, dirty float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.lastRun, c.tally.dirty = now, dirty
}

// cleaned notes a pass.
func (c *Cleaner) cleaned(thread int, p *pass) {
	l := lastPass{
		seconds: p.stats.end.Sub(p.stats.start).Seconds(), utilization: p.stats.utilization, delayMs: p.delay,
		bytesIn: p.stats.bytesIn, bytesOut: p.stats.bytesOut, recordsIn: p.stats.messagesIn, recordsOut: p.stats.messagesOut,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.tally
	t.last[thread] = l
	t.passes++
	t.total.bytesIn += l.bytesIn
	t.total.bytesOut += l.bytesOut
	t.total.recordsIn += l.recordsIn
	t.total.recordsOut += l.recordsOut
}

// threadsStart forgets the last passes, as threads that start have none.
func (c *Cleaner) threadsStart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tally.last)
}

// Metrics gives the numbers of this moment. It may read files of logs that are
// set aside.
func (c *Cleaner) Metrics() Metrics {
	now := time.Now()
	m, aside := c.metrics(now)
	for _, p := range c.o.Partitions() {
		log := p.Log()
		if !aside[log] {
			continue
		}
		dir := filepath.Dir(log.Dir())
		u := m.Uncleanable[dir]
		u.Partitions++
		if d, err := c.look(p, now.UnixMilli()); err == nil {
			u.Bytes += d.dirty
		}
		m.Uncleanable[dir] = u
	}
	return m
}

// metrics is Metrics without what is uncleanable, and the logs that are.
func (c *Cleaner) metrics(now time.Time) (Metrics, map[*logstore.Log]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.tally
	m := Metrics{
		MaxDirtyPercent: int(100 * t.dirty), TimeSinceLastRunMs: now.Sub(t.lastRun).Milliseconds(), Uncleanable: make(map[string]Uncleanable),
		Passes: t.passes, BytesRead: t.total.bytesIn, BytesWritten: t.total.bytesOut, RecordsRead: t.total.recordsIn, RecordsKept: t.total.recordsOut,
	}
	var read, written int64
	for _, l := range t.last {
		m.MaxBufferUtilizationPercent = max(m.MaxBufferUtilizationPercent, int(100*l.utilization))
		m.MaxCleanTimeSecs = max(m.MaxCleanTimeSecs, int(l.seconds))
		m.MaxCompactionDelaySecs = max(m.MaxCompactionDelaySecs, int(l.delayMs/1000))
		read, written = read+l.bytesIn, written+l.bytesOut
	}
	m.CleanerRecopyPercent = int(100 * float64(written) / float64(max(read, 1)))
	aside := make(map[*logstore.Log]bool)
	for log, s := range c.states {
		if s.aside {
			aside[log] = true
		}
	}
	return m, aside
}
