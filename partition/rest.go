package partition

import (
	"context"
	"sync/atomic"
)

// Rest is a fetch that has waited in vain and stays in the lists of its partitions. As long as nothing happens to them, the next fetch
// of the same partitions from the same offsets has the same answer, and need not look at any: what a consumer at rest costs does not
// grow with its partitions. It is used by one fetch at a time, and whoever has it ends it.
type Rest waiter

// rest leaves a waiter in the lists. Its links may be dropped from here on by an append that disturbs it.
func (w *waiter) rest() *Rest {
	w.timer.Stop()
	w.resting.Store(true)
	return (*Rest)(w)
}

// Wait waits as a fetch does, and reports whether there is nothing new at the end of it. Otherwise the partitions have to be read,
// which has not been counted yet: at once, if the fetch asks for something else than the one before or something has happened.
func (r *Rest) Wait(ctx context.Context, spec FetchSpec) bool {
	w := (*waiter)(r)
	if spec.MinBytes != w.spec.MinBytes || spec.Isolation != w.spec.Isolation || spec.Follower != w.spec.Follower {
		return false
	}
	// The other way round in wake: there what is needed shrinks before it looks whether somebody waits.
	w.resting.Store(false)
	if !w.undisturbed() {
		return false
	}
	w.timer.Reset(w.manager.together(spec.MaxWait))
	if w.wait(ctx, spec.Waited) || !w.undisturbed() {
		return false
	}
	w.again.Add(1)
	w.rest()
	return true
}

// End takes the fetch out of the lists.
func (r *Rest) End() {
	w := (*waiter)(r)
	w.manager.dismiss(w)
}

// restedLocked is how many fetches the partition was not looked at for, of those that rest now. It needs waitMu.
func (p *Partition) restedLocked() int64 {
	n := int64(0)
	for l := p.first; l != nil; l = l.next {
		n += l.waiter.again.Load()
	}
	return n
}

// starts tells whether a log start offset was raised, which wakes nobody: by the count of the logs' store.
type starts struct {
	raised *atomic.Uint64
	at     uint64
}

// startsOf is the count of the store of the first partition. That the others are of the same is for who uses it to see.
func startsOf(reads []Read) starts {
	if len(reads) == 0 || reads[0].Partition == nil {
		return starts{}
	}
	raised := reads[0].Partition.log.StartsRaised()
	return starts{raised: raised, at: raised.Load()}
}

func (s starts) hold() bool { return s.raised.Load() == s.at }
