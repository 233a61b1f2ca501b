package handlers

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// AddRaftVoter, versions 0 and 1.
//
// The quorum is this node alone and stays so: with kraft.version 0, which every
// new cluster has, Kafka refuses other voters too. Where a former cluster left
// kraft.version 1, a new voter cannot be reached: there is no controller listener.

func (a *API) addRaftVoter(_ context.Context, _ *protocol.Request, body *kmsg.AddRaftVoterRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrAddRaftVoterResponse()
	answer.Version = body.Version
	image := a.meta.Image()
	err := checkVoterChange(image, body.ClusterID, "adding")
	if err == nil {
		err = usualError(codeRequestTimedOut)
	}
	answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	return answer, nil
}

// checkVoterChange refuses a change of the quorum that is meant for another
// cluster, or that the level of kraft.version does not allow.
func checkVoterChange(image *metadata.Image, clusterID *string, what string) error {
	switch {
	case clusterID != nil && *clusterID != image.ClusterID:
		return &apiError{codeInconsistentClusterID, fmt.Sprintf("The given id %q doesn't match the cluster id %q", *clusterID, image.ClusterID)}
	case image.KRaftVersion() == 0:
		return &apiError{codeUnsupportedVersion, "Cluster doesn't support " + what + " voter because the kraft.version feature is 0"}
	}
	return nil
}
