package handlers

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
)

// RemoveRaftVoter, version 0.
//
// The quorum is this node alone; see AddRaftVoter. Its only voter stays.

func (a *API) removeRaftVoter(_ context.Context, _ *protocol.Request, body *kmsg.RemoveRaftVoterRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrRemoveRaftVoterResponse()
	answer.Version = body.Version
	err := checkVoterChange(a.meta.Image(), body.ClusterID, "removing")
	if err == nil {
		var voters []string
		for _, v := range a.meta.Image().Voters() {
			voters = append(voters, replicaKey(v.ID, v.DirectoryID))
		}
		err = &apiError{codeVoterNotFound, "Cannot remove voter " + replicaKey(body.VoterID, body.VoterDirectoryID) +
			" from the set of voters [" + strings.Join(voters, ", ") + "]"}
	}
	answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	return answer, nil
}

// replicaKey names a voter as Kafka's texts do.
func replicaKey(id int32, directory logstore.UUID) string {
	return fmt.Sprintf("ReplicaKey(id=%d, directoryId=%s)", id, directory)
}
