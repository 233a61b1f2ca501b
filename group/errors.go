package group

import "errors"

// The ways in which a request to a group is refused. What the numbers of these
// are on the wire is not known here.
var (
	// ErrInvalidGroupID: the id of the group is empty.
	ErrInvalidGroupID = errors.New("the group id is invalid")
	// ErrUnknownMember: the member is not, or no longer, in the group.
	ErrUnknownMember = errors.New("the coordinator is not aware of this member")
	// ErrFencedInstance: another member has taken over the instance id.
	ErrFencedInstance = errors.New("another member uses this group.instance.id")
	// ErrMemberIDRequired: the member has to join again with the id it was given.
	ErrMemberIDRequired = errors.New("the group member needs to have a valid member id before joining")
	// ErrIllegalGeneration: the request belongs to another generation.
	ErrIllegalGeneration = errors.New("specified group generation id is not valid")
	// ErrInconsistentProtocol: the group and the member have no protocol in
	// common.
	ErrInconsistentProtocol = errors.New("the group member's supported protocols are incompatible with those of existing members")
	// ErrInvalidSessionTimeout: outside the bounds of the broker.
	ErrInvalidSessionTimeout = errors.New("the session timeout is not within the range allowed by the broker")
	// ErrRebalanceInProgress: the member has to join again.
	ErrRebalanceInProgress = errors.New("the group is rebalancing, so a rejoin is needed")
	// ErrGroupMaxSize: the group takes no more members.
	ErrGroupMaxSize = errors.New("the consumer group has reached its max size")
	// ErrMetadataTooLarge: the note that comes with a committed offset.
	ErrMetadataTooLarge = errors.New("the metadata field of the offset request was too large")
	// ErrGroupNotFound: there is no such group, or it is of another kind.
	ErrGroupNotFound = errors.New("the group id does not exist")
	// ErrNonEmptyGroup: only possible when the group has no members.
	ErrNonEmptyGroup = errors.New("the group is not empty")
	// ErrSubscribed: the group still reads the topic.
	ErrSubscribed = errors.New("deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it")
	// ErrInvalidRequest: the request makes no sense.
	ErrInvalidRequest = errors.New("the request is invalid")
	// ErrFencedEpoch: the member's epoch is not the one the group knows. The
	// member has to join again, without partitions.
	ErrFencedEpoch = errors.New("the member epoch is fenced by the group coordinator")
	// ErrStaleEpoch: the member's epoch is not the one the group knows. The
	// member gets the new one with its next heartbeat.
	ErrStaleEpoch = errors.New("the member epoch is stale")
	// ErrUnreleasedInstance: another member has the instance id and has not left.
	ErrUnreleasedInstance = errors.New("the instance id is still used by another member")
	// ErrUnsupportedAssignor: there is no assignor of that name.
	ErrUnsupportedAssignor = errors.New("the assignor is not supported")
	// ErrInvalidRegex: the regular expression is malformed.
	ErrInvalidRegex = errors.New("the regular expression is not valid")
	// ErrUnsupportedVersion: the client's version of the request does not know
	// what kind of group this is.
	ErrUnsupportedVersion = errors.New("the version of the request is not supported for this group")
	// ErrAssignor: the partitions could not be divided.
	ErrAssignor = errors.New("the assignor did not succeed")
	// ErrUnstableOffset: a transaction that commits this offset is not decided.
	ErrUnstableOffset = errors.New("there are unstable offsets that need to be cleared")
	// ErrLoading: the group's records are still being read.
	ErrLoading = errors.New("the coordinator is loading and hence can't process requests")
	// ErrNotCoordinator: the group's partition is not here, or its records
	// cannot be used.
	ErrNotCoordinator = errors.New("this is not the correct coordinator")
	// ErrNotAvailable: the coordinator has been closed.
	ErrNotAvailable = errors.New("the coordinator is not available")
	// ErrStorage: records could not be written. It wraps what the log said.
	ErrStorage = errors.New("the group's records could not be written")
	// ErrRecordsTooLarge: the records of one change exceed what the log takes
	// in one batch.
	ErrRecordsTooLarge = errors.New("the group's records are too large for one batch")
)

// Refusal is an error with the sentence that tells the client more than the
// kind of the error does.
type Refusal struct {
	Kind error // one of this package's sentinels
	Text string
}

// Error returns the sentence.
func (r *Refusal) Error() string { return r.Text }

// Unwrap returns the kind.
func (r *Refusal) Unwrap() error { return r.Kind }

func notFound(id string) error {
	return &Refusal{Kind: ErrGroupNotFound, Text: "Group " + id + " not found."}
}
