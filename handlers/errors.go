package handlers

import (
	"errors"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/record"
	"minibroker/txn"
)

// The error codes of the protocol, by Kafka's names. This file is the only
// place of minibroker that knows them: what lies below returns errors, and
// errorCode turns them into numbers.
const (
	codeUnknownServerError                     int16 = -1
	codeNone                                   int16 = 0
	codeOffsetOutOfRange                       int16 = 1
	codeCorruptMessage                         int16 = 2
	codeUnknownTopicOrPartition                int16 = 3
	codeLeaderNotAvailable                     int16 = 5
	codeNotLeaderOrFollower                    int16 = 6
	codeRequestTimedOut                        int16 = 7
	codeReplicaNotAvailable                    int16 = 9
	codeMessageTooLarge                        int16 = 10
	codeOffsetMetadataTooLarge                 int16 = 12
	codeCoordinatorLoadInProgress              int16 = 14
	codeCoordinatorNotAvailable                int16 = 15
	codeNotCoordinator                         int16 = 16
	codeInvalidTopicException                  int16 = 17
	codeRecordListTooLarge                     int16 = 18
	codeNotEnoughReplicas                      int16 = 19
	codeNotEnoughReplicasAfterAppend           int16 = 20
	codeInvalidRequiredAcks                    int16 = 21
	codeIllegalGeneration                      int16 = 22
	codeInconsistentGroupProtocol              int16 = 23
	codeInvalidGroupID                         int16 = 24
	codeUnknownMemberID                        int16 = 25
	codeInvalidSessionTimeout                  int16 = 26
	codeRebalanceInProgress                    int16 = 27
	codeInvalidCommitOffsetSize                int16 = 28
	codeTopicAuthorizationFailed               int16 = 29
	codeGroupAuthorizationFailed               int16 = 30
	codeClusterAuthorizationFailed             int16 = 31
	codeInvalidTimestamp                       int16 = 32
	codeUnsupportedSASLMechanism               int16 = 33
	codeIllegalSASLState                       int16 = 34
	codeUnsupportedVersion                     int16 = 35
	codeTopicAlreadyExists                     int16 = 36
	codeInvalidPartitions                      int16 = 37
	codeInvalidReplicationFactor               int16 = 38
	codeInvalidReplicaAssignment               int16 = 39
	codeInvalidConfig                          int16 = 40
	codeNotController                          int16 = 41
	codeInvalidRequest                         int16 = 42
	codeUnsupportedForMessageFormat            int16 = 43
	codePolicyViolation                        int16 = 44
	codeOutOfOrderSequenceNumber               int16 = 45
	codeDuplicateSequenceNumber                int16 = 46
	codeInvalidProducerEpoch                   int16 = 47
	codeInvalidTxnState                        int16 = 48
	codeInvalidProducerIDMapping               int16 = 49
	codeInvalidTransactionTimeout              int16 = 50
	codeConcurrentTransactions                 int16 = 51
	codeTransactionCoordinatorFenced           int16 = 52
	codeTransactionalIDAuthorizationFailed     int16 = 53
	codeSecurityDisabled                       int16 = 54
	codeOperationNotAttempted                  int16 = 55
	codeKafkaStorageError                      int16 = 56
	codeLogDirNotFound                         int16 = 57
	codeSASLAuthenticationFailed               int16 = 58
	codeUnknownProducerID                      int16 = 59
	codeReassignmentInProgress                 int16 = 60
	codeDelegationTokenAuthDisabled            int16 = 61
	codeDelegationTokenNotFound                int16 = 62
	codeDelegationTokenOwnerMismatch           int16 = 63
	codeDelegationTokenRequestNotAllowed       int16 = 64
	codeDelegationTokenAuthorizationFailed     int16 = 65
	codeDelegationTokenExpired                 int16 = 66
	codeInvalidPrincipalType                   int16 = 67
	codeNonEmptyGroup                          int16 = 68
	codeGroupIDNotFound                        int16 = 69
	codeFetchSessionIDNotFound                 int16 = 70
	codeInvalidFetchSessionEpoch               int16 = 71
	codeListenerNotFound                       int16 = 72
	codeTopicDeletionDisabled                  int16 = 73
	codeFencedLeaderEpoch                      int16 = 74
	codeUnknownLeaderEpoch                     int16 = 75
	codeUnsupportedCompressionType             int16 = 76
	codeStaleBrokerEpoch                       int16 = 77
	codeOffsetNotAvailable                     int16 = 78
	codeMemberIDRequired                       int16 = 79
	codePreferredLeaderNotAvailable            int16 = 80
	codeGroupMaxSizeReached                    int16 = 81
	codeFencedInstanceID                       int16 = 82
	codeEligibleLeadersNotAvailable            int16 = 83
	codeElectionNotNeeded                      int16 = 84
	codeNoReassignmentInProgress               int16 = 85
	codeGroupSubscribedToTopic                 int16 = 86
	codeInvalidRecord                          int16 = 87
	codeUnstableOffsetCommit                   int16 = 88
	codeThrottlingQuotaExceeded                int16 = 89
	codeProducerFenced                         int16 = 90
	codeResourceNotFound                       int16 = 91
	codeDuplicateResource                      int16 = 92
	codeUnacceptableCredential                 int16 = 93
	codeInvalidUpdateVersion                   int16 = 95
	codeFeatureUpdateFailed                    int16 = 96
	codeUnknownTopicID                         int16 = 100
	codeDuplicateBrokerRegistration            int16 = 101
	codeBrokerIDNotRegistered                  int16 = 102
	codeInconsistentTopicID                    int16 = 103
	codeInconsistentClusterID                  int16 = 104
	codeTransactionalIDNotFound                int16 = 105
	codeFetchSessionTopicIDError               int16 = 106
	codeFencedMemberEpoch                      int16 = 110
	codeUnreleasedInstanceID                   int16 = 111
	codeUnsupportedAssignor                    int16 = 112
	codeStaleMemberEpoch                       int16 = 113
	codeMismatchedEndpointType                 int16 = 114
	codeUnsupportedEndpointType                int16 = 115
	codeUnknownControllerID                    int16 = 116
	codeUnknownSubscriptionID                  int16 = 117
	codeTelemetryTooLarge                      int16 = 118
	codeInvalidRegistration                    int16 = 119
	codeTransactionAbortable                   int16 = 120
	codeInvalidRecordState                     int16 = 121
	codeShareSessionNotFound                   int16 = 122
	codeInvalidShareSessionEpoch               int16 = 123
	codeFencedStateEpoch                       int16 = 124
	codeInvalidVoterKey                        int16 = 125
	codeDuplicateVoter                         int16 = 126
	codeVoterNotFound                          int16 = 127
	codeInvalidRegularExpression               int16 = 128
	codeRebootstrapRequired                    int16 = 129
	codeStreamsInvalidTopology                 int16 = 130
	codeStreamsInvalidTopologyEpoch            int16 = 131
	codeStreamsTopologyFenced                  int16 = 132
	codeShareSessionLimitReached               int16 = 133
	codeGroupDeletionFailed                    int16 = 134
	codeStreamsTopologyDescriptionUpdateFailed int16 = 135
	codeControllerIDNotRegistered              int16 = 136
)

// apiError is an answer's error code with the sentence that goes with it. The
// handlers return it for mistakes of the client; errors from below have their
// code in the table of errorCode.
type apiError struct {
	code    int16
	message string // "" = the answer has a null message
}

func (e *apiError) Error() string {
	if e.message != "" {
		return e.message
	}
	return usualMessage(e.code)
}

// usualError is an error with the sentence that Kafka has for its code.
func usualError(code int16) *apiError {
	return &apiError{code, usualMessage(code)}
}

// usualMessages has the sentences that Kafka sends with a code when the place of
// the error has none of its own. A code without one is sent with null.
var usualMessages = map[int16]string{
	codeOffsetOutOfRange:            "The requested offset is not within the range of offsets maintained by the server.",
	codeUnknownServerError:          "The server experienced an unexpected error when processing the request.",
	codeCorruptMessage:              "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or is otherwise corrupt.",
	codeUnknownTopicOrPartition:     "This server does not host this topic-partition.",
	codeNotLeaderOrFollower:         "For requests intended only for the leader, this error indicates that the broker is not the current leader. For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition.",
	codeRequestTimedOut:             "The request timed out.",
	codeMessageTooLarge:             "The request included a message larger than the max message size the server will accept.",
	codeInvalidTopicException:       "The request attempted to perform an operation on an invalid topic.",
	codeRecordListTooLarge:          "The request included message batch larger than the configured segment size on the server.",
	codeInvalidTimestamp:            "The timestamp of the message is out of acceptable range.",
	codeTopicAlreadyExists:          "Topic with this name already exists.",
	codeInvalidPartitions:           "Number of partitions is below 1.",
	codeInvalidReplicationFactor:    "Replication factor is below 1 or larger than the number of available brokers.",
	codeInvalidReplicaAssignment:    "Replica assignment is invalid.",
	codeInvalidConfig:               "Configuration is invalid.",
	codeInvalidRequest:              "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details.",
	codePolicyViolation:             "Request parameters do not satisfy the configured policy.",
	codeOutOfOrderSequenceNumber:    "The broker received an out of order sequence number.",
	codeInvalidProducerEpoch:        "Producer attempted to produce with an old epoch.",
	codeInvalidTxnState:             "The producer attempted a transactional operation in an invalid state.",
	codeKafkaStorageError:           "Disk error when trying to access log file on the disk.",
	codeInvalidRecord:               "This record has failed the validation on broker and hence will be rejected.",
	codePreferredLeaderNotAvailable: "The preferred leader was not available.",
	codeEligibleLeadersNotAvailable: "Eligible topic partition leaders are not available.",
	codeElectionNotNeeded:           "Leader election not needed for topic partition.",
	codeUnknownTopicID:              "This server does not host this topic ID.",
}

func usualMessage(code int16) string { return usualMessages[code] }

// changeError says of a refused change of the metadata what Kafka's controller
// says. Errors that it has no words for are returned as they are.
func changeError(err error) error {
	if errors.Is(err, metadata.ErrTooManyRecords) {
		return &apiError{codePolicyViolation, "Unable to perform excessively large batch operation."}
	}
	return err
}

// readOnlyMessage is what a broker that shows a data directory read-only says to
// those who want to write. The code is POLICY_VIOLATION, which no client tries
// again after.
const readOnlyMessage = "This broker shows its data directory read-only; nothing can be written to it."

// sentinel joins an error of a lower package with its code.
type sentinel struct {
	err  error
	code int16
}

// sentinels is the table of the errors of lower packages. The first match wins.
var sentinels = [...]sentinel{
	{logstore.ErrReadOnly, codePolicyViolation}, // first: others may wrap it
	{group.ErrInvalidGroupID, codeInvalidGroupID},
	{group.ErrInvalidRequest, codeInvalidRequest},
	{group.ErrUnknownMember, codeUnknownMemberID},
	{group.ErrFencedEpoch, codeFencedMemberEpoch},
	{group.ErrStaleEpoch, codeStaleMemberEpoch},
	{group.ErrUnreleasedInstance, codeUnreleasedInstanceID},
	{group.ErrUnsupportedAssignor, codeUnsupportedAssignor},
	{group.ErrInvalidRegex, codeInvalidRegularExpression},
	{group.ErrUnsupportedVersion, codeUnsupportedVersion},
	{group.ErrAssignor, codeUnknownServerError},
	{group.ErrFencedInstance, codeFencedInstanceID},
	{group.ErrMemberIDRequired, codeMemberIDRequired},
	{group.ErrIllegalGeneration, codeIllegalGeneration},
	{group.ErrInconsistentProtocol, codeInconsistentGroupProtocol},
	{group.ErrInvalidSessionTimeout, codeInvalidSessionTimeout},
	{group.ErrRebalanceInProgress, codeRebalanceInProgress},
	{group.ErrGroupMaxSize, codeGroupMaxSizeReached},
	{group.ErrMetadataTooLarge, codeOffsetMetadataTooLarge},
	{group.ErrGroupNotFound, codeGroupIDNotFound},
	{group.ErrNonEmptyGroup, codeNonEmptyGroup},
	{group.ErrSubscribed, codeGroupSubscribedToTopic},
	{group.ErrUnstableOffset, codeUnstableOffsetCommit},
	{group.ErrLoading, codeCoordinatorLoadInProgress},
	{group.ErrNotCoordinator, codeNotCoordinator},
	{group.ErrNotAvailable, codeCoordinatorNotAvailable},
	{group.ErrRecordsTooLarge, codeUnknownServerError},
	{group.ErrStorage, codeNotCoordinator}, // the client asks again, and may find it mended
	{partition.ErrUnknownPartition, codeUnknownTopicOrPartition},
	{metadata.ErrUnknownTopic, codeUnknownTopicOrPartition},
	{metadata.ErrTopicExists, codeTopicAlreadyExists},
	{partition.ErrNotLeader, codeNotLeaderOrFollower},
	{partition.ErrFencedLeaderEpoch, codeFencedLeaderEpoch},
	{partition.ErrUnknownLeaderEpoch, codeUnknownLeaderEpoch},
	{partition.ErrUndefinedEpoch, codeOffsetOutOfRange},
	{record.ErrInvalidRecord, codeInvalidRecord},
	{record.ErrCorruptMessage, codeCorruptMessage},
	{record.ErrInvalidTimestamp, codeInvalidTimestamp},
	{record.ErrMessageTooLarge, codeMessageTooLarge},
	{logstore.ErrOffsetOutOfRange, codeOffsetOutOfRange},
	{logstore.ErrRecordListTooLarge, codeRecordListTooLarge},
	{logstore.ErrOutOfOrderSequence, codeOutOfOrderSequenceNumber},
	{logstore.ErrInvalidProducerEpoch, codeInvalidProducerEpoch},
	{logstore.ErrInvalidTxnState, codeInvalidTxnState},
	{logstore.ErrCoordinatorFenced, codeTransactionCoordinatorFenced},
	{txn.ErrInvalidRequest, codeInvalidRequest},
	{txn.ErrProducerIDMapping, codeInvalidProducerIDMapping},
	{txn.ErrProducerFenced, codeProducerFenced},
	{txn.ErrConcurrent, codeConcurrentTransactions},
	{txn.ErrInvalidState, codeInvalidTxnState},
	{txn.ErrInvalidTimeout, codeInvalidTransactionTimeout},
	{txn.ErrTwoPhaseCommit, codeTransactionalIDAuthorizationFailed},
	{txn.ErrNotAdded, codeTransactionAbortable},
	{txn.ErrNotFound, codeTransactionalIDNotFound},
	{txn.ErrNotCoordinator, codeNotCoordinator},
	{txn.ErrNotAvailable, codeCoordinatorNotAvailable},
	{logstore.ErrStorage, codeKafkaStorageError},
	{logstore.ErrClosed, codeKafkaStorageError},
}

// errorCode returns the code for an error: 0 for nil, UNKNOWN_SERVER_ERROR for
// what has no entry.
func errorCode(err error) int16 {
	if err == nil {
		return codeNone
	}
	var own *apiError
	if errors.As(err, &own) {
		return own.code
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.code
		}
	}
	return codeUnknownServerError
}

// errorMessage returns what an answer says beside errorCode(err): an apiError's
// or a refusal's own sentence, nil when it has none or when there is no error,
// and for other errors from below the code's usual sentence.
func errorMessage(err error) *string {
	if err == nil {
		return nil
	}
	var refusal *group.Refusal
	if errors.As(err, &refusal) {
		return &refusal.Text
	}
	var own *apiError
	if !errors.As(err, &own) {
		own = usualError(errorCode(err))
		if errors.Is(err, logstore.ErrReadOnly) {
			own.message = readOnlyMessage
		}
	}
	if own.message == "" {
		return nil
	}
	return &own.message
}
