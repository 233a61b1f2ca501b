package metadata

import (
	"path/filepath"
	"strings"
	"testing"

	"minibroker/internal/vfs"
)

// alterQuotas limits users in one change, or removes the limit of those with - before them.
func (n *node) alterQuotas(users ...string) {
	n.t.Helper()
	var records []Record
	for _, user := range users {
		name, remove := strings.CutPrefix(user, "-")
		records = append(records, &ClientQuotaRecord{Entity: []QuotaEntity{{Type: "user", Name: &name}}, Name: "producer_byte_rate", Value: 1000, Remove: remove})
	}
	if err := n.Append(records); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) quotaUsers() string {
	var users []string
	for _, q := range n.Image().Quotas() {
		users = append(users, *q.Entity[0].Name)
	}
	return strings.Join(users, " ")
}

// TestQuotaOrderAfterASnapshot holds what is read from a snapshot, and then from the log behind it, to the order that
// ClientQuotasImage of Kafka 4.4.0 gives (handlers/testdata/quotaorder has its answers to more of them).
func TestQuotaOrderAfterASnapshot(t *testing.T) {
	n := newNode(t, vfs.OS(), filepath.Join(t.TempDir(), "__cluster_metadata-0")).start()
	n.alterQuotas("a", "b", "c", "d")
	n.alterQuotas("q", "A", "Q")
	n.alterQuotas("-b", "-c")
	if err := n.snapshot(n.Image()); err != nil {
		t.Fatal(err)
	}
	n.alterQuotas("r", "1", "-a")
	n.alterQuotas("2")
	if got := n.quotaUsers(); got != "d r 2 Q A q 1" {
		t.Errorf("before the restart: %s", got)
	}
	n.stop()
	n.start()
	if got := n.quotaUsers(); got != "d 2 r q A Q 1" { // d 2 r 1 Q A q without the snapshot
		t.Errorf("after the restart: %s", got)
	}
	n.stop()
}
