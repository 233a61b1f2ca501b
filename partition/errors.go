package partition

import "errors"

var (
	// ErrUnknownPartition: no such partition lives here, or it was removed
	// while a request was under way.
	ErrUnknownPartition = errors.New("unknown partition")

	// ErrNotLeader: the request is one that only another replica's leader
	// could answer. A single replica has no followers, so every fetch in the
	// name of a replica ends here.
	ErrNotLeader = errors.New("not the leader or no such follower")

	// ErrFencedLeaderEpoch: the client's leader epoch is older than the
	// partition's.
	ErrFencedLeaderEpoch = errors.New("leader epoch is older than the partition's")

	// ErrUnknownLeaderEpoch: the client's leader epoch is newer than the
	// partition's.
	ErrUnknownLeaderEpoch = errors.New("leader epoch is newer than the partition's")

	// ErrUndefinedEpoch: the epoch of the last record that the client fetched
	// is none of this log, so nothing can be said about its offset.
	ErrUndefinedEpoch = errors.New("end offset of the last fetched epoch is not known")

	// ErrInvalidMaxBytes: a fetch limit below zero.
	ErrInvalidMaxBytes = errors.New("fetch limit is negative")
)
