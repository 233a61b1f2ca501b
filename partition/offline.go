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

// TakeOffline notes partitions whose log directory has failed, as SetOffline
// does, and ends all use of them: appends and waiting fetches too answer with an
// error that wraps logstore.ErrStorage.
func (m *Manager) TakeOffline(tps []logstore.TopicPartition) {
	var gone []*Partition
	m.mu.Lock()
	for _, tp := range tps {
		m.offline[tp] = struct{}{}
		if p := m.partitions[tp]; p != nil {
			gone = append(gone, p)
			delete(m.partitions, tp)
		}
	}
	m.mu.Unlock()
	m.moved.Store(true)
	for _, p := range gone {
		p.offline.Store(true)
		p.close()
	}
}

// gone is why a partition that was removed is not there.
func (p *Partition) gone() error {
	if p.offline.Load() {
		return errOffline
	}
	return ErrUnknownPartition
}

// errOffline is for whoever still holds a partition whose directory failed.
var errOffline = fmt.Errorf("%w: the log dir is offline", logstore.ErrStorage)

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
