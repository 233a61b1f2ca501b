package handlers

import (
	"bytes"
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// AlterUserScramCredentials, version 0.
//
// What the client sends is the salted password; stored are the two keys that
// follow from it (RFC 5802). A user can be changed once in a request, whatever the
// mechanism. Each user gets one answer.

// scramChange is what a request changes about one user.
type scramChange struct {
	user   string
	record metadata.Record
	result error
}

func (a *API) alterUserScramCredentials(_ context.Context, _ *protocol.Request, body *kmsg.AlterUserSCRAMCredentialsRequest) (kmsg.Response, error) {
	a.configChange.Lock()
	defer a.configChange.Unlock()
	changes := planScram(a.meta.Image(), body)
	var records []metadata.Record
	for _, c := range changes {
		if c.result == nil {
			records = append(records, c.record)
		}
	}
	if len(records) > 0 {
		if err := a.meta.Append(records); err != nil {
			a.log.Error("credentials were not written", "error", err)
			for _, c := range changes {
				c.result = changeError(err)
			}
		}
	}
	answer := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
	answer.Version = body.Version
	for _, c := range changes {
		r := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		r.User, r.ErrorCode, r.ErrorMessage = c.user, errorCode(c.result), errorMessage(c.result)
		answer.Results = append(answer.Results, r)
	}
	return answer, nil
}

// planScram makes the records of a request, or the reasons against them.
func planScram(image *metadata.Image, body *kmsg.AlterUserSCRAMCredentialsRequest) []*scramChange {
	var changes []*scramChange
	byUser := make(map[string]*scramChange)
	add := func(user string, plan func() (metadata.Record, error)) {
		c, twice := byUser[user]
		switch {
		case !twice:
			c = &scramChange{user: user}
			byUser[user], changes = c, append(changes, c)
			c.record, c.result = plan()
		case c.result == nil:
			c.result = &apiError{codeDuplicateResource, "A user credential cannot be altered twice in the same request"}
		}
	}
	for i := range body.Deletions {
		d := &body.Deletions[i]
		add(d.Name, func() (metadata.Record, error) { return planScramDeletion(image, d) })
	}
	for i := range body.Upsertions {
		u := &body.Upsertions[i]
		add(u.Name, func() (metadata.Record, error) { return planScramUpsertion(u) })
	}
	return changes
}

func planScramDeletion(image *metadata.Image, d *kmsg.AlterUserSCRAMCredentialsRequestDeletion) (metadata.Record, error) {
	if err := checkScramUser(d.Name, d.Mechanism); err != nil {
		return nil, err
	}
	if _, ok := image.ScramCredential(metadata.ScramUser{Name: d.Name, Mechanism: d.Mechanism}); !ok {
		return nil, &apiError{codeResourceNotFound, "Attempt to delete a user credential that does not exist"}
	}
	return &metadata.RemoveUserScramCredentialRecord{Name: d.Name, Mechanism: d.Mechanism}, nil
}

func planScramUpsertion(u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) (metadata.Record, error) {
	if err := checkScramUser(u.Name, u.Mechanism); err != nil {
		return nil, err
	}
	switch {
	case u.Iterations < metadata.MinScramIterations:
		return nil, &apiError{codeUnacceptableCredential, "Too few iterations"}
	case u.Iterations > metadata.MaxScramIterations:
		return nil, &apiError{codeUnacceptableCredential, "Too many iterations"}
	case len(u.SaltedPassword) == 0: // Java refuses it as a key
		return nil, usualError(codeUnknownServerError)
	}
	user := metadata.ScramUser{Name: u.Name, Mechanism: u.Mechanism}
	return metadata.NewScramCredential(user, bytes.Clone(u.Salt), u.SaltedPassword, u.Iterations), nil
}

func checkScramUser(name string, mechanism int8) error {
	switch {
	case name == "":
		return &apiError{codeUnacceptableCredential, "Username must not be empty"}
	case mechanism != metadata.ScramSHA256 && mechanism != metadata.ScramSHA512:
		return &apiError{codeUnsupportedSASLMechanism, "Unknown SCRAM mechanism"}
	}
	return nil
}
