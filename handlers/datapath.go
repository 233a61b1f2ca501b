package handlers

import (
	"sync"

	"minibroker/config"
)

// dataPath is what produce and fetch keep between requests: reused buffers,
// and the fetch sessions.
type dataPath struct {
	fetchMaxBytes int32 // fetch.max.bytes, read-only in a running broker
	produces      sync.Pool
	fetches       sync.Pool
	sessions      *fetchSessions
}

// mostPooled is how many partitions a request may name for its buffers to be
// kept; those of a larger one are left to the collector.
const mostPooled = 4096

func newDataPath(c *config.Broker) *dataPath {
	return &dataPath{
		fetchMaxBytes: int32(c.Int("fetch.max.bytes")),
		sessions:      newFetchSessions(c.Int("max.incremental.fetch.session.cache.slots")),
	}
}
