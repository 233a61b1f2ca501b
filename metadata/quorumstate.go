package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

const quorumStateName = "quorum-state"

// QuorumState is the file quorum-state: the last election that the node knows
// of. It is one JSON object without a line end. With voters by configuration
// (kraft.version 0):
//
//	{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,
//	 "currentVoters":[{"voterId":1}],"data_version":0}
//
// with voters in the log (kraft.version 1):
//
//	{"leaderId":1,"leaderEpoch":1,"votedId":-1,
//	 "votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}
//
// Kafka writes no blanks and these orders of keys, and reads any.
type QuorumState struct {
	DataVersion int16 // 0 or 1, as above

	LeaderID    int32 // -1 unknown
	LeaderEpoch int32
	VotedID     int32 // -1: no vote in this epoch

	ClusterID     string  // version 0; Kafka leaves it empty and does not look at it
	AppliedOffset int64   // version 0; always 0
	Voters        []int32 // version 0

	VotedDirectoryID logstore.UUID // version 1
}

type quorumVoter struct {
	VoterID int32 `json:"voterId"`
}

type quorumStateV0 struct {
	ClusterID     string        `json:"clusterId"`
	LeaderID      int32         `json:"leaderId"`
	LeaderEpoch   int32         `json:"leaderEpoch"`
	VotedID       int32         `json:"votedId"`
	AppliedOffset int64         `json:"appliedOffset"`
	CurrentVoters []quorumVoter `json:"currentVoters"`
	DataVersion   int16         `json:"data_version"`
}

type quorumStateV1 struct {
	LeaderID         int32  `json:"leaderId"`
	LeaderEpoch      int32  `json:"leaderEpoch"`
	VotedID          int32  `json:"votedId"`
	VotedDirectoryID string `json:"votedDirectoryId"`
	DataVersion      int16  `json:"data_version"`
}

// encode is the content of the file.
func (q QuorumState) encode() ([]byte, error) {
	if q.DataVersion == 1 {
		return json.Marshal(quorumStateV1{q.LeaderID, q.LeaderEpoch, q.VotedID, q.VotedDirectoryID.String(), 1})
	}
	voters := make([]quorumVoter, len(q.Voters))
	for i, id := range q.Voters {
		voters[i].VoterID = id
	}
	return json.Marshal(quorumStateV0{q.ClusterID, q.LeaderID, q.LeaderEpoch, q.VotedID, q.AppliedOffset, voters, 0})
}

// decodeQuorumState reads the content of the file.
func decodeQuorumState(data []byte) (QuorumState, error) {
	head := struct {
		DataVersion *int16 `json:"data_version"`
	}{}
	if err := json.Unmarshal(data, &head); err != nil {
		return QuorumState{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if head.DataVersion == nil {
		return QuorumState{}, fmt.Errorf("%w: no data_version", ErrMalformed)
	}
	switch *head.DataVersion {
	case 0:
		v := quorumStateV0{LeaderID: -1, LeaderEpoch: -1, VotedID: -1}
		if err := json.Unmarshal(data, &v); err != nil {
			return QuorumState{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		q := QuorumState{LeaderID: v.LeaderID, LeaderEpoch: v.LeaderEpoch, VotedID: v.VotedID, ClusterID: v.ClusterID, AppliedOffset: v.AppliedOffset}
		for _, voter := range v.CurrentVoters {
			q.Voters = append(q.Voters, voter.VoterID)
		}
		return q, nil
	case 1:
		v := quorumStateV1{LeaderID: -1, LeaderEpoch: -1, VotedID: -1}
		if err := json.Unmarshal(data, &v); err != nil {
			return QuorumState{}, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		q := QuorumState{DataVersion: 1, LeaderID: v.LeaderID, LeaderEpoch: v.LeaderEpoch, VotedID: v.VotedID}
		if v.VotedDirectoryID == "" {
			return q, nil
		}
		id, err := logstore.ParseUUID(v.VotedDirectoryID)
		if err != nil {
			return QuorumState{}, fmt.Errorf("%w: votedDirectoryId: %w", ErrMalformed, err)
		}
		q.VotedDirectoryID = id
		return q, nil
	}
	return QuorumState{}, fmt.Errorf("%w: data_version %d, known are 0 and 1", ErrUnsupported, *head.DataVersion)
}

// readQuorumState reads the file of a metadata directory. A missing file is an
// election that never took place: epoch 0.
func readQuorumState(fsys vfs.FS, dir string) (QuorumState, error) {
	data, err := vfs.ReadFile(fsys, filepath.Join(dir, quorumStateName))
	if errors.Is(err, fs.ErrNotExist) {
		return QuorumState{LeaderID: -1, VotedID: -1}, nil
	}
	if err != nil {
		return QuorumState{}, err
	}
	q, err := decodeQuorumState(data)
	if err != nil {
		return QuorumState{}, fmt.Errorf("%s: %w", filepath.Join(dir, quorumStateName), err)
	}
	return q, nil
}

// writeQuorumState replaces the file.
func writeQuorumState(fsys vfs.FS, dir string, q QuorumState) error {
	data, err := q.encode()
	if err != nil {
		return err
	}
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, quorumStateName), data, 0o644)
}
