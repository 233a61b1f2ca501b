package minibroker

import (
	"slices"

	"minibroker/logstore"
	"minibroker/metadata"
)

// isOffline tells whether a partition's files lie in a log dir that could not be read: the metadata name a directory that
// is not among those in use, while one of the configured ones is missing. An empty log must not take its place.
func (b *Broker) isOffline(p *metadata.Partition) bool {
	at := slices.Index(p.Replicas, b.config.NodeID())
	if len(b.store.OfflineDirs()) == 0 || at < 0 || at >= len(p.Directories) {
		return false
	}
	id := p.Directories[at]
	return !reservedDirectory(id) && b.placeOf(p) == nil
}

// reservedDirectory tells the ids that name no directory (unassigned, lost, migrating): the first hundred numbers.
func reservedDirectory(id logstore.UUID) bool {
	for _, digit := range id[:len(id)-1] {
		if digit != 0 {
			return false
		}
	}
	return id[len(id)-1] < 100
}
