package partition

import (
	"context"
	"time"

	"minibroker/logstore"
)

// Read asks for the records of one partition.
type Read struct {
	// Partition is nil when there is none; the result is ErrUnknownPartition.
	Partition   *Partition
	FetchOffset int64
	// MaxBytes bounds this partition's records; the first batch of an answer
	// comes whole all the same.
	MaxBytes int
	// CurrentLeaderEpoch is the epoch the client believes in, negative for none.
	CurrentLeaderEpoch int32
	// LastFetchedEpoch is the epoch of the record before FetchOffset as the
	// client has it, negative for none. With it the answer can tell the client
	// that its log parted from this one.
	LastFetchedEpoch int32
}

// FetchSpec holds for all partitions of a fetch.
type FetchSpec struct {
	// MinBytes is how much is worth an answer before MaxWait is over.
	MinBytes int
	// MaxBytes bounds the records of all partitions together.
	MaxBytes  int
	MaxWait   time.Duration
	Isolation Isolation
	// Follower: the fetch comes in a replica's name. A single replica has no
	// followers, each partition answers ErrNotLeader.
	Follower bool
	// Waited, where set, is told how long the fetch has waited, if it has.
	Waited *time.Duration
}

// EpochEnd is where an epoch ends in this log.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// ReadResult answers one Read. With Err set all offsets are -1 and there are
// no records.
type ReadResult struct {
	// Records is a pinned range of a segment file, nil when there is nothing
	// to read. The caller releases it exactly once.
	Records          *logstore.Range
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	// Aborted lists the aborted transactions that reach into Records. It is
	// meaningful when Committed is set.
	Aborted []logstore.AbortedTxn
	// Committed: the read was bounded by the last stable offset.
	Committed bool
	// Diverging is set when the client's last fetched epoch ends earlier in
	// this log than the client thinks.
	Diverging    EpochEnd
	HasDiverging bool
	Err          error

	// more: the log goes on after Records and below the bound; a limit or the
	// end of a segment ended the read.
	more bool
}

// size is the number of record bytes in the result.
func (r *ReadResult) size() int64 {
	if r.Records == nil {
		return 0
	}
	return r.Records.Len()
}

// Fetch reads all partitions in order and appends their results to dst. When
// they hold less than MinBytes, none of them failed and MaxWait is positive, it
// waits until enough was appended, a partition went away, MaxWait is over or ctx
// is done, and reads again. This and that of a Rest are the only waits of the data
// path; nothing is pinned or locked during them.
//
// A fetch that has waited in vain is kept for the next one of the same partitions, which asks it first. The Rest is nil otherwise, and
// the caller's to end.
func (m *Manager) Fetch(ctx context.Context, reads []Read, spec FetchSpec, dst []ReadResult) ([]ReadResult, *Rest) {
	base, starts := len(dst), startsOf(reads)
	dst, missing := readAll(reads, spec, dst)
	count(reads, dst[base:])
	if missing <= 0 || spec.MaxWait <= 0 || len(reads) == 0 {
		return dst, nil
	}
	w := m.waiters.Get().(*waiter)
	w.begin(spec, missing, starts)
	w.enter(reads)
	// A consumer at rest has read nothing, and mostly nothing comes: then what was read holds.
	if !unread(dst[base:]) || !unchanged(reads, dst[base:], starts) || w.wait(ctx, spec.Waited) {
		dst = m.fetchAgain(ctx, w, reads, spec, dst, base)
	} else if w.undisturbed() {
		return dst, w.rest()
	} else {
		dst, _ = readAll(reads, spec, dst[:base])
	}
	m.dismiss(w)
	return dst, nil
}

// fetchAgain reads in place of dst[base:] what came, and waits, until there is enough or the wait is over.
func (m *Manager) fetchAgain(ctx context.Context, w *waiter, reads []Read, spec FetchSpec, dst []ReadResult, base int) []ReadResult {
	for {
		release(dst[base:])
		// What is appended from here on counts against the whole minimum.
		// What the read below also saw is counted twice, which at worst costs
		// one more read.
		w.need.Store(int64(spec.MinBytes))
		var missing int64
		dst, missing = readAll(reads, spec, dst[:base])
		if missing <= 0 {
			return dst
		}
		if w.need.Add(missing-int64(spec.MinBytes)) <= 0 {
			continue
		}
		release(dst[base:])
		dst = dst[:base]
		if !w.wait(ctx, spec.Waited) {
			dst, _ = readAll(reads, spec, dst)
			return dst
		}
	}
}

// unread reports whether no records were read.
func unread(results []ReadResult) bool {
	for i := range results {
		if r := &results[i]; r.Records != nil || r.more {
			return false
		}
	}
	return true
}

// unchanged reports whether reads that gave no records would give the same again. What changes that afterwards wakes a fetch that has
// entered, but for the log start offset, which starts tells of where all logs are of one store.
func unchanged(reads []Read, results []ReadResult, starts starts) bool {
	for i := range reads {
		p, r := reads[i].Partition, &results[i]
		if p == nil || p.removed.Load() || p.log.StartsRaised() != starts.raised || p.CheckLeaderEpoch(reads[i].CurrentLeaderEpoch) != nil {
			return false
		}
		if highWatermark := p.highWatermark.Load(); highWatermark != r.HighWatermark || p.stableBelow(highWatermark) != r.LastStableOffset {
			return false
		}
	}
	return true
}

// count counts a fetch for each of its partitions; what it reads again after a wait is the same fetch, as Kafka sees it.
func count(reads []Read, results []ReadResult) {
	for i := range reads {
		if p := reads[i].Partition; p != nil {
			p.traffic.read(results[i].Err)
		}
	}
}

// release gives back the ranges of results that are not answered.
func release(results []ReadResult) {
	for i := range results {
		if r := results[i].Records; r != nil {
			r.Release()
			results[i].Records = nil
		}
	}
}

// readAll reads the partitions one after another under the limits of the
// whole fetch. missing is how many bytes the results are short of the
// minimum, 0 or less when they can be answered as they are.
func readAll(reads []Read, spec FetchSpec, dst []ReadResult) (results []ReadResult, missing int64) {
	missing = int64(spec.MinBytes)
	limit := spec.MaxBytes
	first, answer := true, false
	for i := range reads {
		result := reads[i].read(spec, limit, first, i < mostHeld)
		answer = answer || result.Err != nil || result.HasDiverging
		n := result.size()
		first = first && n == 0
		limit = max(0, limit-int(n))
		if result.more {
			// What does not fit is there all the same. Kafka would send a
			// part of the next batch and count that.
			n = max(n, int64(reads[i].MaxBytes))
		}
		missing -= n
		dst = append(dst, result)
	}
	if answer {
		missing = 0
	}
	return dst, missing
}

// mostHeld is how many partitions of a fetch may hold records in memory until they are sent, a few KB each.
const mostHeld = 8

// read reads one partition. limit is what the whole fetch still allows, first
// says that nothing was read yet, so that a batch comes whole whatever the
// limits are.
func (r *Read) read(spec FetchSpec, limit int, first, hold bool) ReadResult {
	p := r.Partition
	if p == nil {
		return failed(ErrUnknownPartition)
	}
	if p.removed.Load() {
		return failed(p.gone())
	}
	if err := p.CheckLeaderEpoch(r.CurrentLeaderEpoch); err != nil {
		return failed(err)
	}
	if spec.Follower {
		return failed(ErrNotLeader)
	}
	result := ReadResult{HighWatermark: p.highWatermark.Load(), LogStartOffset: p.log.StartOffset()}
	result.LastStableOffset = p.stableBelow(result.HighWatermark)
	if r.LastFetchedEpoch >= 0 {
		if err := r.diverge(&result); err != nil {
			return failed(err)
		}
		if result.HasDiverging {
			return result
		}
	}
	bound := result.HighWatermark
	if spec.Isolation == ReadCommitted {
		bound = result.LastStableOffset
	}
	maxBytes := min(r.MaxBytes, limit)
	if maxBytes < 0 && r.FetchOffset >= result.LogStartOffset && r.FetchOffset < bound {
		return failed(ErrInvalidMaxBytes)
	}
	info, err := p.log.Read(r.FetchOffset, max(0, maxBytes), logstore.ReadOptions{
		UpperBound:     bound,
		MinOneMessage:  first,
		Hold:           hold,
		CollectAborted: spec.Isolation == ReadCommitted,
	})
	if err != nil {
		return failed(p.goneOr(err))
	}
	result.Records, result.Aborted = info.Records, info.Aborted
	// Without records the rest was left out by the limits, unless this read could
	// have had a whole batch: then there is none below the bound, only a gap.
	result.more = info.NextOffset < bound && (info.Records != nil || !first)
	result.Committed = spec.Isolation == ReadCommitted
	return result
}

// diverge compares the epoch of the client's last record with this log's
// history.
func (r *Read) diverge(result *ReadResult) error {
	epoch, end := r.Partition.log.EpochEndOffset(r.LastFetchedEpoch)
	if epoch < 0 || end < 0 {
		return ErrUndefinedEpoch
	}
	if r.FetchOffset < result.LogStartOffset {
		return logstore.ErrOffsetOutOfRange
	}
	if epoch < r.LastFetchedEpoch || end < r.FetchOffset {
		result.Diverging, result.HasDiverging = EpochEnd{Epoch: epoch, EndOffset: end}, true
	}
	return nil
}

func failed(err error) ReadResult {
	return ReadResult{HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1, Err: err}
}
