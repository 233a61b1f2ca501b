package handlers

import (
	"time"

	"minibroker/protocol"
	"minibroker/quota"
)

// mutationQuota counts the partitions that one request creates and deletes.
// While its client is above the quota, newer versions are refused topic by
// topic; older ones are carried out and only throttled.
type mutationQuota struct {
	quotas *quota.Quotas // nil when there are none
	client string
	strict bool

	wait time.Duration // how long the client had to wait at `at`
	at   time.Time
}

// mutationsOf begins to count for a request; from version strictSince on the
// quota is strict.
func (a *API) mutationsOf(req *protocol.Request, strictSince int16) *mutationQuota {
	m := &mutationQuota{strict: req.Version >= strictSince}
	if a.quotas.Limits(quota.Mutations) {
		m.quotas, m.client = a.quotas, clientOf(req)
	}
	return m
}

// take counts n partitions, or refuses them.
func (m *mutationQuota) take(n int) error {
	if m.quotas == nil {
		return nil
	}
	now := time.Now()
	wait, refused := m.quotas.Mutate(anonymous, m.client, n, m.strict, now)
	if wait > 0 {
		m.wait, m.at = wait, now
	}
	if refused {
		return &apiError{codeThrottlingQuotaExceeded, "The throttling quota has been exceeded."}
	}
	return nil
}

// throttle is how long the client has to wait still, in milliseconds.
func (m *mutationQuota) throttle() int32 {
	return throttleMillis(max(0, m.wait-time.Since(m.at)))
}
