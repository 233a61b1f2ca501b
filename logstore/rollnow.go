package logstore

// Roll seals the active segment and starts an empty one, so that everything stored so far can be compacted or removed. A log
// whose active segment is empty stays as it is. Kafka has no such call: it rolls when it appends.
func (l *Log) Roll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	if l.activeLocked().size.Load() == 0 {
		return nil
	}
	return l.rollLocked(l.end.Load(), l.config.Load())
}
