package logstore

import (
	"errors"
	"fmt"
	"io"
)

// reportGaps tells of segments that are missing between others. Kafka 4.4.0
// says nothing; readers of both go on behind the gap. Cleaning leaves such gaps
// on purpose, so compacted logs are not looked at.
func (d *loader) reportGaps() error {
	if d.cfg.Compact {
		return nil
	}
	for i := 0; i+1 < len(d.segments); i++ {
		next, err := d.segments[i].nextOffset()
		if errors.Is(err, errNoBatch) {
			continue // its index is damaged, which is another matter
		}
		if err != nil {
			return err
		}
		if to := d.segments[i+1].base; next < to {
			d.log.error("LogLoader", fmt.Sprintf("Offsets %d to %d are missing: the segment files that held them are gone from %s. Readers go on at %d.",
				next, to-1, d.o.Dir, to))
		}
	}
	return nil
}

// ignoreEnd turns the end of a walk over headers, be it at a batch or not, into
// success.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, errNoBatch) {
		return nil
	}
	return err
}
