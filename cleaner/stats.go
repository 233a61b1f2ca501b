package cleaner

import (
	"fmt"
	"strings"
	"time"
)

// progressInterval is how often a long pass tells how far it is.
const progressInterval = 10 * time.Second

// stats counts what a pass does.
type stats struct {
	start, mapped, end time.Time
	progress           time.Time // of the last line

	toRead, toCopy  int64 // bytes of the segments of each part
	bytesMapped     int64
	bytesCopied     int64
	indexedMessages int64
	utilization     float64

	bytesIn, bytesOut       int64
	messagesIn, messagesOut int64
	invalid                 int64
}

func (s *stats) read(n int) {
	if s.mapped.IsZero() {
		s.bytesMapped += int64(n)
	} else {
		s.bytesCopied += int64(n)
	}
}

func (s *stats) indexed(now time.Time, utilization float64) {
	s.mapped, s.utilization = now, utilization
}

func (s *stats) finished(now time.Time) { s.end = now }

// progressLine is a line about a pass that has been going on for a while, ""
// when the last one is not long ago.
func (s *stats) progressLine(now time.Time) string {
	if now.Sub(s.progress) < progressInterval {
		return ""
	}
	s.progress = now
	if s.mapped.IsZero() {
		return fmt.Sprintf("Read the keys of %.1f of %.1f MB, %d messages, in %.0f seconds.",
			megabytes(s.bytesMapped), megabytes(s.toRead), s.indexedMessages, now.Sub(s.start).Seconds())
	}
	return fmt.Sprintf("Copied from %.1f of %.1f MB, kept %.1f MB, in %.0f seconds.",
		megabytes(s.bytesCopied), megabytes(s.toCopy), megabytes(s.bytesOut), now.Sub(s.mapped).Seconds())
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// report is Kafka's table at the end of a pass, line by line. Kafka logs it as
// one message with line ends in it; here each is one, since a log line is one
// line.
func (s *stats) report(thread int, log string, from, to int64) []string {
	seconds := func(a, b time.Time) float64 { return max(b.Sub(a).Seconds(), 1e-9) }
	total, index := seconds(s.start, s.end), seconds(s.start, s.mapped)
	mb := megabytes(s.bytesIn)
	var all []string
	line := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	line("Log cleaner thread %d cleaned log %s (dirty section = [%d, %d])", thread, log, from, to)
	line("%s MB of log processed in %.1f seconds (%s MB/sec).", grouped(mb), total, grouped(mb/total))
	line("Indexed %s MB in %.1f seconds (%s Mb/sec, %.1f%% of total time)",
		grouped(megabytes(s.bytesMapped)), index, grouped(megabytes(s.bytesMapped)/index), 100*index/total)
	line("Buffer utilization: %.1f%%", 100*s.utilization)
	line("Cleaned %s MB in %.1f seconds (%s Mb/sec, %.1f%% of total time)",
		grouped(mb), total-index, grouped(mb/max(total-index, 1e-9)), 100*(total-index)/total)
	line("Start size: %s MB (%s messages)", grouped(mb), groupDigits(fmt.Sprint(s.messagesIn)))
	line("End size: %s MB (%s messages)", grouped(megabytes(s.bytesOut)), groupDigits(fmt.Sprint(s.messagesOut)))
	line("%.1f%% size reduction (%.1f%% fewer messages)", reduction(s.bytesIn, s.bytesOut), reduction(s.messagesIn, s.messagesOut))
	return all
}

func reduction(before, after int64) float64 {
	if before == 0 {
		return 0
	}
	return 100 * (1 - float64(after)/float64(before))
}

func grouped(v float64) string { return groupDigits(fmt.Sprintf("%.1f", v)) }

// groupDigits puts commas between thousands.
func groupDigits(number string) string {
	whole, rest, dot := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + rest
	}
	return whole
}

// javaDate words a moment as java.util.Date does.
func javaDate(ms int64) string { return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 MST 2006") }
