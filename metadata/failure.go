package metadata

import (
	"errors"

	"minibroker/logstore"
)

// What is appended to the log and not safe must not be built upon, and what could not be appended at all may be appended in part:
// after an error of the file system the state on disk is not known, and the store takes nothing more. Kafka ends then (measured on
// Apache Kafka 4.4.0); OnFailure lets its owner do so. A full disk is no such error as long as the append was undone.

// failLocked has the store take nothing more.
func (s *Store) failLocked(err error) {
	first := s.failed == nil
	s.failed = errors.Join(s.failed, err)
	if first {
		s.o.OnFailure(err)
	}
}

// appendFailedLocked looks at an error of an append.
func (s *Store) appendFailedLocked(err error) error {
	if logstore.DeviceFailed(err) {
		s.failLocked(err)
	}
	return err
}
