package partition

import (
	"fmt"

	"minibroker/logstore"
)

// SetOffline notes a partition whose log directory failed: Get answers with an
// error that wraps logstore.ErrStorage.
func (m *Manager) SetOffline(tp logstore.TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offline[tp] = struct{}{}
}

// missing tells why a partition is not here.
func (m *Manager) missing(tp logstore.TopicPartition) error {
	m.mu.RLock()
	_, offline := m.offline[tp]
	m.mu.RUnlock()
	if offline {
		return fmt.Errorf("%w: %s lies in a log dir that is offline", logstore.ErrStorage, tp)
	}
	return ErrUnknownPartition
}
