package cleaner

import (
	"math"
	"strings"

	"minibroker/logstore"
)

// segmentsIn is the part of a log's segments that [from, to) touches: from the
// one that holds from up to the last with a base below to.
func segmentsIn(list []logstore.Segment, from, to int64) []logstore.Segment {
	if from >= to {
		return nil
	}
	first, end := 0, 0
	for i, s := range list {
		if s.Base() <= from {
			first = i
		}
		if s.Base() < to {
			end = i + 1
		}
	}
	return list[min(first, end):end]
}

// nextBase is the base of the segment after number i, or the bound for the last.
func nextBase(list []logstore.Segment, i int, bound int64) int64 {
	if i+1 < len(list) {
		return list[i+1].Base()
	}
	return bound
}

// listed words segments as Kafka's log lines do.
func listed(list []logstore.Segment) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}

func bytesOf(list []logstore.Segment) int64 {
	total := int64(0)
	for _, s := range list {
		total += s.Size()
	}
	return total
}

// groups splits neighbouring segments into runs that are copied into one
// segment each. What counts are sizes before the copy: the sums of .log bytes
// within segment.bytes, of each index's bytes within segment.index.bytes, and
// offsets within 31 bits above the first base. bound is the first offset behind
// the segments.
func groups(list []logstore.Segment, cfg *logstore.Config, bound int64) ([][]logstore.Segment, error) {
	var all [][]logstore.Segment
	var size, offsets, times int64
	first := 0
	for i, s := range list {
		o, t, err := s.IndexBytes()
		if err != nil {
			return nil, err
		}
		fits := i > first && size+s.Size() <= int64(cfg.SegmentBytes) &&
			offsets+o <= int64(cfg.IndexBytes) && times+t <= int64(cfg.IndexBytes) &&
			(s.Size() == 0 || nextBase(list, i, bound)-1-list[first].Base() <= math.MaxInt32)
		if !fits {
			if i > first {
				all = append(all, list[first:i])
			}
			first, size, offsets, times = i, 0, 0, 0
		}
		size, offsets, times = size+s.Size(), offsets+o, times+t
	}
	if len(list) > first {
		all = append(all, list[first:])
	}
	return all, nil
}
