// Package meter counts requests and their times with atomic additions alone: no locks, no allocations after the first request of
// an API.
package meter
