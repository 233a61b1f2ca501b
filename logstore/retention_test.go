package logstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// TestAppendTimeRulesRetention: under LogAppendTime a client whose clock is ten years ahead keeps nothing for ten years. The
// broker's time is the batch's largest timestamp, marked as such, and what retention and look-ups by time go by.
func TestAppendTimeRulesRetention(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Gzip} {
		t.Run(fmt.Sprint(codec), func(t *testing.T) {
			l := memLog(t, vfs.NewMem(), func(c *Config) { c.TimestampType, c.RetentionMs = record.LogAppendTime, 5000 })
			begun := time.Now().UnixMilli()
			ahead := begun + 10*365*24*3600*1000
			b := record.NewBuilder(record.BuilderOptions{Codec: codec})
			for i := range 3 {
				must(t, b.Append(record.Record{Timestamp: ahead + int64(i), Value: make([]byte, 100)}))
			}
			batch, err := b.Build()
			must(t, err)
			info := mustAppend(t, l, batch, AppendOptions{})
			if info.LogAppendTimeMs < begun || info.LogAppendTimeMs > time.Now().UnixMilli() || info.MaxTimestampMs != info.LogAppendTimeMs {
				t.Errorf("append time %d, largest timestamp %d, begun at %d", info.LogAppendTimeMs, info.MaxTimestampMs, begun)
			}
			read, err := l.Read(0, 1<<20, ReadOptions{UpperBound: 3})
			must(t, err)
			stored := make(record.Batch, read.Records.Len())
			_, err = read.Records.ReadAt(stored, 0)
			must(t, err)
			read.Records.Release()
			if stored.TimestampType() != record.LogAppendTime || stored.MaxTimestamp() != info.LogAppendTimeMs || stored.BaseTimestamp() != ahead || !stored.ChecksumOK() {
				t.Errorf("stored type %v, largest timestamp %d, base timestamp %d", stored.TimestampType(), stored.MaxTimestamp(), stored.BaseTimestamp())
			}
			must(t, stored.ForEach(1<<20, func(r *record.Record) error {
				if r.Timestamp != info.LogAppendTimeMs {
					return fmt.Errorf("record %d has timestamp %d", r.Offset, r.Timestamp)
				}
				return nil
			}))
			if offset, ts, _, found, err := l.OffsetForTimestamp(begun, 3); err != nil || !found || offset != 0 || ts != info.LogAppendTimeMs {
				t.Errorf("look-up gives %d at %d, %v, %v", offset, ts, found, err)
			}
			for _, c := range []struct{ after, start int64 }{{5000, 0}, {5001, 3}} {
				_, err := l.ApplyRetention(3, time.UnixMilli(info.LogAppendTimeMs+c.after))
				must(t, err)
				if l.StartOffset() != c.start || l.EndOffset() != 3 {
					t.Errorf("after %d ms the log is [%d, %d)", c.after, l.StartOffset(), l.EndOffset())
				}
			}
		})
	}
}

// TestRetentionOfActiveSegment: the segment that takes appends goes too when all has expired, but for what lies above the
// high watermark; by size a segment goes only if what remains is still at or above the limit.
func TestRetentionOfActiveSegment(t *testing.T) {
	perSegment := 20 * len(numbered(t, 0, 1))
	for _, c := range []struct {
		name          string
		bytes, ms     int64 // retention
		after         time.Duration
		highWatermark int64
		left          []int64 // bases of the segments
		start         int64
	}{
		{"not expired", -1, 5000, time.Second, 60, []int64{0, 20, 40}, 0},
		{"idle and expired", -1, 5000, time.Hour, 60, []int64{60}, 60},
		{"expired, above the high watermark", -1, 5000, time.Hour, 40, []int64{40}, 40},
		{"one and a half segments", int64(perSegment * 3 / 2), -1, 0, 60, []int64{20, 40}, 20},
		{"one byte more than two segments", int64(perSegment*2 + 1), -1, 0, 60, []int64{0, 20, 40}, 0},
		{"no bytes", 0, -1, 0, 60, []int64{60}, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := vfs.NewMem()
			l := memLog(t, mem, func(cfg *Config) { cfg.SegmentBytes, cfg.RetentionBytes, cfg.RetentionMs = perSegment, c.bytes, c.ms })
			for at := range 60 {
				mustAppend(t, l, numbered(t, at, 1), AppendOptions{})
			}
			l.env.background.Wait()
			if have := bases(l); !slices.Equal(have, []int64{0, 20, 40}) {
				t.Fatalf("segments %v", have)
			}
			_, err := l.ApplyRetention(c.highWatermark, time.UnixMilli(1_700_000_000_000).Add(c.after))
			must(t, err)
			if have := bases(l); !slices.Equal(have, c.left) || l.StartOffset() != c.start || l.EndOffset() != 60 {
				t.Errorf("segments %v, log [%d, %d), want %v from %d on", have, l.StartOffset(), l.EndOffset(), c.left, c.start)
			}
			for _, base := range []int64{0, 20, 40} {
				_, err := mem.Stat("/data/t-0/" + seg(base, logSuffix+deletedSuffix))
				if gone := !slices.Contains(c.left, base); gone != (err == nil) {
					t.Errorf("segment %d is renamed to .deleted: %v", base, err == nil)
				}
			}
			if info := mustAppend(t, l, numbered(t, 60, 1), AppendOptions{}); info.FirstOffset != 60 {
				t.Errorf("the next record gets %d", info.FirstOffset)
			}
		})
	}
}

func bases(l *Log) (all []int64) {
	for _, s := range *l.segments.Load() {
		all = append(all, s.base)
	}
	return all
}
