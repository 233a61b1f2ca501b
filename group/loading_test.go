package group

import (
	"testing"
	"testing/synctest"
)

// stepLog is a long log of which one batch is read at a time, each when told.
type stepLog struct {
	*memLog
	start int64
	step  chan struct{}
}

func (l *stepLog) StartOffset() int64 { return l.start - inlineRecords } // so far back that it loads in the background

func (l *stepLog) Read(offset int64, buf []byte) ([]byte, error) {
	<-l.step
	return l.memLog.Read(offset, buf)
}

// stepwise loads what the bench has in the background; allow lets some batches
// be read, finish the rest.
func (b *bench) stepwise() (allow func(batches int), finish func()) {
	log := &stepLog{memLog: b.log, start: -1, step: make(chan struct{})}
	b.Resign(0)
	b.Lead(0, log)
	synctest.Wait()
	allow = func(batches int) {
		for range batches {
			log.step <- struct{}{}
		}
		synctest.Wait()
	}
	finish = func() {
		close(log.step)
		synctest.Wait()
	}
	return allow, finish
}

// TestMarkersDuringTheLoading ends a transaction at every moment of the loading of
// the offsets that it commits. The producer's transaction before it was aborted,
// which must not come into force with it.
func TestMarkersDuringTheLoading(t *testing.T) {
	const batches = 6
	for at := range batches + 1 {
		for _, commit := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.wantErr(b.commit("g", "", -1, "t", 5), nil)
				b.wantErr(b.commitIn(7, "h", 10), nil)
				b.end(7, false)
				b.wantErr(b.commitIn(7, "g", 11), nil)
				b.wantErr(b.commitIn(8, "i", 12), nil)
				b.wantErr(b.commitIn(7, "g", 13), nil)
				allow, finish := b.stepwise()
				allow(at)
				b.end(7, commit)
				if at == batches/2 { // one that is answered late: another was written since
					b.end(8, true)
					b.CompleteTransaction(0, 7, b.log.end-2, commit)
				}
				finish()
				want := int64(5)
				if commit {
					want = 13
				}
				if got, err := b.stableOffset("g"); got != want || err != nil {
					t.Errorf("ended after %d batches, commit %v: offset %d, %v, want %d", at, commit, got, err, want)
				}
				if got, err := b.stableOffset("h"); got != -1 || err != nil {
					t.Errorf("ended after %d batches: an aborted offset is %d, %v", at, got, err)
				}
				if _, err := b.stableOffset("i"); (err == nil) != (at == batches/2) {
					t.Errorf("ended after %d batches: another transaction: %v", at, err)
				}
			})
		}
	}
}

// TestTopicDeletedDuringTheLoading deletes a topic while its offsets are loaded.
func TestTopicDeletedDuringTheLoading(t *testing.T) {
	for at := range 3 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.wantErr(b.commit("g", "", -1, "t", 5), nil)
			b.wantErr(b.commit("g", "", -1, "other", 6), nil)
			allow, finish := b.stepwise()
			allow(at)
			if err := b.TopicDeleted("t", [16]byte{}); err != nil {
				t.Fatal(err)
			}
			finish()
			both(b, func(b *bench) {
				if b.committed("g", "t") != -1 || b.committed("g", "other") != 6 {
					t.Errorf("offsets %d and %d", b.committed("g", "t"), b.committed("g", "other"))
				}
			})
		})
	}
}

// TestRecordsDeletedDuringTheLoading deletes what the loader has not come to.
func TestRecordsDeletedDuringTheLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for n := range int64(4) {
			b.wantErr(b.commit("g", "", -1, "t", n), nil)
		}
		log := &cutLog{stepLog: stepLog{memLog: b.log, start: -1, step: make(chan struct{})}}
		b.Resign(0)
		b.Lead(0, log)
		synctest.Wait()
		log.start = inlineRecords + 3
		close(log.step)
		synctest.Wait()
		if got := b.committed("g", "t"); got != 3 {
			t.Errorf("offset %d", got)
		}
	})
}

// cutLog refuses to read below its start.
type cutLog struct{ stepLog }

func (l *cutLog) Read(offset int64, buf []byte) ([]byte, error) {
	set, err := l.stepLog.Read(offset, buf)
	if offset < l.StartOffset() {
		return nil, errDisk
	}
	return set, err
}
