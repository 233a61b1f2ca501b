package handlers

import (
	"errors"
	"fmt"
	"testing"

	"minibroker/partition"
)

// said is a code and its message in one line, as the tests compare them.
func said(code int16, message *string) string {
	if message == nil {
		return fmt.Sprintf("%d null", code)
	}
	return fmt.Sprintf("%d %s", code, *message)
}

func TestErrorCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "0 null"},
		{&apiError{code: codeRequestTimedOut}, "7 null"},
		{&apiError{codeInvalidRequest, "Duplicate topic name."}, "42 Duplicate topic name."},
		{usualError(codeUnknownTopicID), "100 This server does not host this topic ID."},
		{fmt.Errorf("read: %w", partition.ErrUnknownPartition), "3 This server does not host this topic-partition."},
		{errors.New("anything"), "-1 The server experienced an unexpected error when processing the request."},
	} {
		if got := said(errorCode(c.err), errorMessage(c.err)); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
