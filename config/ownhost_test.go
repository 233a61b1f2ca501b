package config

import (
	"context"
	"errors"
	"testing"
)

// fakeNames are names with their addresses, and addresses with their names.
type fakeNames map[string][]string

func (f fakeNames) LookupHost(_ context.Context, name string) ([]string, error) {
	if f[name] == nil {
		return nil, errors.New("no such host")
	}
	return f[name], nil
}

func (f fakeNames) LookupAddr(ctx context.Context, address string) ([]string, error) {
	return f.LookupHost(ctx, address)
}

func TestCanonicalHost(t *testing.T) {
	for _, c := range []struct {
		about string
		names fakeNames
		want  string
	}{
		{"a name without an address", fakeNames{}, "own"},
		{"a full name", fakeNames{"own": {"192.0.2.1"}, "192.0.2.1": {"own.example.", "own"}, "own.example": {"192.0.2.1"}}, "own.example"},
		{"IPv4 before IPv6", fakeNames{"own": {"2001:db8::1", "192.0.2.1"}, "192.0.2.1": {"own.example."}, "own.example": {"192.0.2.1"}}, "own.example"},
		{"IPv6 alone", fakeNames{"own": {"2001:db8::1"}, "2001:db8::1": {"own.example."}, "own.example": {"2001:db8::1"}}, "own.example"},
		{"an address without a name", fakeNames{"own": {"192.0.2.1"}}, "192.0.2.1"},
		{"a name of another address", fakeNames{"own": {"192.0.2.1"}, "192.0.2.1": {"other.example."}, "other.example": {"192.0.2.2"}}, "192.0.2.1"},
	} {
		if got := canonicalHost(t.Context(), "own", c.names); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if got := canonicalHost(late, "own", fakeNames{"own": {"192.0.2.1"}}); got != "own" {
		t.Errorf("nobody answers in time: %s", got)
	}
}
