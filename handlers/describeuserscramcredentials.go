package handlers

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// DescribeUserScramCredentials, version 0.
//
// Shows mechanisms and iterations, never secrets. No users, or null, means all.
// A user who is asked for twice is answered once, with an error.

func (a *API) describeUserScramCredentials(_ context.Context, _ *protocol.Request, body *kmsg.DescribeUserSCRAMCredentialsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	answer.Version = body.Version
	answer.ErrorMessage = new(string)
	image := a.meta.Image()
	asked := make(map[string]int)
	var users []string
	for i := range body.Users {
		name := body.Users[i].Name
		if asked[name]++; asked[name] == 1 {
			users = append(users, name)
		}
	}
	if len(body.Users) == 0 {
		for user := range image.ScramCredentials() {
			users = append(users, user.Name)
		}
		slices.SortFunc(users, strings.Compare)
		users = slices.Compact(users)
	}
	for _, user := range users {
		r := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
		r.User, r.ErrorMessage = user, new(string)
		infos := scramInfos(image, user)
		var err error
		switch {
		case asked[user] > 1:
			err = &apiError{codeDuplicateResource, "Cannot describe SCRAM credentials for the same user twice in a single request: " + user}
		case len(infos) == 0:
			err = &apiError{codeResourceNotFound, "Attempt to describe a user credential that does not exist: " + user}
		}
		if err != nil {
			r.ErrorCode, r.ErrorMessage = errorCode(err), errorMessage(err)
		} else {
			r.CredentialInfos = infos
		}
		answer.Results = append(answer.Results, r)
	}
	return answer, nil
}

func scramInfos(image *metadata.Image, user string) []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo {
	var infos []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo
	for _, mechanism := range []int8{metadata.ScramSHA256, metadata.ScramSHA512} {
		if c, ok := image.ScramCredential(metadata.ScramUser{Name: user, Mechanism: mechanism}); ok {
			info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
			info.Mechanism, info.Iterations = mechanism, c.Iterations
			infos = append(infos, info)
		}
	}
	return infos
}
