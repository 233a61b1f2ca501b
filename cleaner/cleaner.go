package cleaner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"minibroker/logstore"
)

// Settings are those of the cleaner as a whole, named as Kafka's.
type Settings struct {
	Threads           int           // log.cleaner.threads
	DedupeBufferBytes int64         // log.cleaner.dedupe.buffer.size, of all threads together
	IOBufferBytes     int           // log.cleaner.io.buffer.size, of all threads together
	LoadFactor        float64       // log.cleaner.io.buffer.load.factor
	BytesPerSecond    float64       // log.cleaner.io.max.bytes.per.second
	Backoff           time.Duration // log.cleaner.backoff.ms
}

// Options say what a Cleaner works on.
type Options struct {
	// Partitions lists the logs, whether compacted or not.
	Partitions  func() []Partition
	Checkpoints Checkpoints
	// Settings gives the settings in force. They are asked for at the start of
	// Run and after each Wake.
	Settings func() Settings
	Logger   *slog.Logger // nil: nothing is logged
}

// Cleaner compacts the logs that are due, and applies retention to compacted
// logs. It does nothing until Run.
type Cleaner struct {
	o        Options
	log      *slog.Logger
	throttle throttle

	mu     sync.Mutex
	states map[*logstore.Log]*state
	tally  tally
	woken  chan struct{} // closed by the next Wake
	freed  chan struct{} // closed when a thread next lets go of a log
}

// state is what is remembered of a compacted log. Cleaner.mu guards it.
type state struct {
	busy    bool      // a thread works on it
	aside   bool      // uncleanable until restart
	retryAt time.Time // after an error of its files
	idle    outlook   // nothing was to be done
	ratio   float64   // when it was looked at last
}

// outlook is all that decides on what is to be done with a log, apart from
// time.
type outlook struct {
	looked             bool
	start, end, stable int64
	config             logstore.Config
}

// New makes a cleaner.
func New(o Options) *Cleaner {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cleaner{o: o, log: o.Logger, states: make(map[*logstore.Log]*state), woken: make(chan struct{}), freed: make(chan struct{})}
	c.tally = tally{lastRun: time.Now(), last: make(map[int]lastPass)}
	return c
}

// Wake tells that there may be work or other settings: a partition was added,
// settings have changed. It never waits.
func (c *Cleaner) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.woken)
	c.woken = make(chan struct{})
}

func (c *Cleaner) wakeSignal() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.woken
}

// Run cleans until ctx ends and returns when all threads have stopped, which
// they do after the piece of work at hand. Changed settings stop them likewise
// and start new ones.
func (c *Cleaner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wake := c.wakeSignal()
		settings := c.o.Settings()
		c.runThreads(ctx, settings, wake)
	}
}

func (c *Cleaner) runThreads(ctx context.Context, settings Settings, wake <-chan struct{}) {
	says(c.log, "org.apache.kafka.storage.internals.log.LogCleaner").Info("Starting the log cleaner")
	c.throttle.start()
	c.threadsStart()
	ctx, stop := context.WithCancel(ctx)
	var threads sync.WaitGroup
	for i := range settings.Threads {
		threads.Go(func() { c.work(ctx, i, settings) })
	}
	for ctx.Err() == nil && c.o.Settings() == settings {
		select {
		case <-ctx.Done():
		case <-wake:
			wake = c.wakeSignal()
		}
	}
	stop()
	threads.Wait()
}

// work is one thread: rounds without a pause as long as something is cleaned,
// else one per back-off. While no log is compacted it waits to be woken.
func (c *Cleaner) work(ctx context.Context, thread int, settings Settings) {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for ctx.Err() == nil {
		wake := c.wakeSignal()
		cleaned, compacted := c.round(ctx, thread, settings)
		if cleaned {
			continue
		}
		timer.Stop()
		if compacted {
			timer.Reset(settings.Backoff)
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C:
		}
	}
}

// Round cleans the log that needs it most, if any does, and applies retention
// to all compacted logs. It reports whether a log was cleaned.
func (c *Cleaner) Round(ctx context.Context) bool {
	cleaned, _ := c.round(ctx, 0, c.o.Settings())
	return cleaned
}

func (c *Cleaner) round(ctx context.Context, thread int, settings Settings) (cleaned, compacted bool) {
	partitions := c.compacted()
	if best := c.choose(partitions, thread, settings); best != nil {
		cleaned = c.clean(ctx, thread, settings, best)
	}
	for _, p := range partitions {
		if ctx.Err() == nil {
			c.retain(p)
		}
	}
	return cleaned, len(partitions) > 0
}

// compacted lists the logs that are the cleaner's business and forgets what was
// known about others.
func (c *Cleaner) compacted() []Partition {
	var list []Partition
	for _, p := range c.o.Partitions() {
		if p.Log().Config().Compact {
			list = append(list, p)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := make(map[*logstore.Log]*state, len(list))
	for _, p := range list {
		if known[p.Log()] = c.states[p.Log()]; known[p.Log()] == nil {
			known[p.Log()] = &state{}
		}
	}
	for log, s := range c.states {
		if s.busy {
			known[log] = s
		}
	}
	c.states = known
	return list
}

// choose takes the log with the largest dirty part among those that are due,
// and marks it as busy.
func (c *Cleaner) choose(partitions []Partition, thread int, settings Settings) *candidate {
	var best *candidate
	now, dirtiest := time.Now(), 0.0
	defer func() { c.looked(now, dirtiest) }()
	for _, p := range partitions {
		before := outlookOf(p)
		claimed, ratio := c.claim(p.Log(), now, before)
		dirtiest = max(dirtiest, ratio)
		if !claimed {
			continue
		}
		d, err := c.look(p, now.UnixMilli())
		if err == nil {
			dirtiest = max(dirtiest, c.rate(d))
		}
		switch {
		case err != nil:
			c.failed(thread, p, -1, err, now.Add(settings.Backoff))
		case !d.due():
			c.settle(p.Log(), before)
		case best == nil || d.ratio() > best.ratio():
			if best != nil {
				c.release(best.log)
			}
			best = d
			continue
		}
		c.release(p.Log())
	}
	return best
}

func outlookOf(p Partition) outlook {
	log := p.Log()
	o := outlook{looked: true, start: log.StartOffset(), end: log.EndOffset(), stable: p.LastStableOffset(), config: log.Config()}
	return o
}

// timeless reports whether the passing of time alone cannot make a log due.
func (o *outlook) timeless() bool {
	return o.config.MinCompactionLagMs <= 0 && o.config.MaxCompactionLagMs == math.MaxInt64
}

// claim makes a log the caller's, unless another thread has it, it is set
// aside, or nothing has changed since it was found to be in order; then ratio
// is what it was.
func (c *Cleaner) claim(log *logstore.Log, now time.Time, o outlook) (claimed bool, ratio float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[log]
	switch {
	case s == nil || s.busy || s.aside || now.Before(s.retryAt):
		return false, 0
	case s.idle == o && o.timeless():
		return false, s.ratio
	}
	s.busy = true
	return true, 0
}

// rate remembers the dirty part of a log that was looked at.
func (c *Cleaner) rate(d *candidate) float64 {
	ratio := d.ratio()
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[d.log]; s != nil {
		s.ratio = ratio
	}
	return ratio
}

func (c *Cleaner) release(log *logstore.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[log]; s != nil {
		s.busy = false
	}
	close(c.freed)
	c.freed = make(chan struct{})
}

// settle remembers that a log that looked so needed nothing.
func (c *Cleaner) settle(log *logstore.Log, o outlook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[log]; s != nil {
		s.idle = o
	}
}

// clean runs a pass and writes its checkpoint. The log is claimed and is
// released here.
func (c *Cleaner) clean(ctx context.Context, thread int, settings Settings, d *candidate) bool {
	defer c.release(d.log)
	tp := d.log.TopicPartition()
	p := c.newPass(ctx, thread, settings, d)
	end, err := p.run()
	if err == nil {
		err = c.o.Checkpoints.CheckpointCleaner(tp, end)
	}
	if err != nil {
		c.failed(thread, d.partition, d.first, err, time.Now().Add(settings.Backoff))
		return false
	}
	c.cleaned(thread, p)
	for _, line := range p.stats.report(thread, tp.String(), d.first, end) {
		says(c.log, threadLogger).Info(fmt.Sprintf("[kafka-log-cleaner-thread-%d]: %s", thread, line))
	}
	if p.stats.invalid > 0 {
		says(c.log, threadLogger).Warn(fmt.Sprintf("[kafka-log-cleaner-thread-%d]: Found %d invalid messages during compaction.", thread, p.stats.invalid))
	}
	return true
}

// failed deals with an error. A log that cannot be understood is set aside; one
// whose files could not be read or written is tried again later, when the disk
// may have room again. first is the offset that the pass began at, negative
// when none did.
func (c *Cleaner) failed(thread int, p Partition, first int64, err error, retryAt time.Time) {
	tp := p.Log().TopicPartition()
	name := fmt.Sprintf("[kafka-log-cleaner-thread-%d]: ", thread)
	var corrupt *logstore.CorruptError
	aside := errors.As(err, &corrupt)
	switch {
	case errors.Is(err, errAborted), errors.Is(err, logstore.ErrSegmentGone), p.Log().Closed(), errors.Is(err, logstore.ErrUnknownLog):
		says(c.log, threadLogger).Info(fmt.Sprintf("%sThe cleaning for partition %s is aborted", name, tp))
		return
	case aside:
		says(c.log, threadLogger).Warn(name+"Unexpected exception thrown when cleaning log "+describe(p)+
			". Marking its partition ("+tp.String()+") as uncleanable", "error", err)
		if first >= 0 {
			if err := c.o.Checkpoints.CheckpointCleaner(tp, first); err != nil {
				c.log.Error("Writing the cleaner's checkpoint: "+err.Error(), "logger", managerLogger)
			}
		}
	default:
		says(c.log, threadLogger).Error(name+"Cleaning log "+describe(p)+" has to be tried again later", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[p.Log()]; s != nil {
		s.aside, s.retryAt = aside, retryAt
	}
}

// retain removes the segments of a compacted log that retention no longer
// keeps: those below the log start, and under compact,delete also by size and
// age.
func (c *Cleaner) retain(p Partition) {
	log := p.Log()
	c.mu.Lock()
	s := c.states[log]
	if s == nil || s.busy || s.aside || log.Closed() {
		c.mu.Unlock()
		return
	}
	s.busy = true
	c.mu.Unlock()
	defer c.release(log)
	if _, err := log.ApplyRetention(p.HighWatermark(), time.Now()); err != nil && !log.Closed() {
		c.log.Error("Retention of the compacted log "+log.TopicPartition().String()+": "+err.Error(), "logger", managerLogger)
	}
}
