package handlers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
)

// quotaHistory is a broker's metadata to which the lines of testdata/quotaorder happen.
type quotaHistory struct {
	*testing.T
	dir   string
	store *metadata.Store
}

func (h *quotaHistory) open() {
	h.Helper()
	store, err := metadata.Open(metadata.Options{
		FS: vfs.OS(), Dir: filepath.Join(h.dir, "__cluster_metadata-0"), NodeID: 1,
		ClusterID: "5L6g3nShT-eMCtK--X86sw", DirectoryIDs: []logstore.UUID{{1, 2, 3}}, MinISR: "1", CleanBrokerEpoch: -1,
	})
	if err != nil {
		h.Fatal(err)
	}
	h.store = store
}

func (h *quotaHistory) close() {
	h.Helper()
	if h.store == nil {
		return
	}
	if err := h.store.Close(); err != nil {
		h.Fatal(err)
	}
	h.store = nil
}

// alter limits entities in one change, or removes the limit of those with - before them.
func (h *quotaHistory) alter(entities []string) {
	h.Helper()
	var records []metadata.Record
	for _, text := range entities {
		text, remove := strings.CutPrefix(text, "-")
		r := &metadata.ClientQuotaRecord{Name: "producer_byte_rate", Value: 1000, Remove: remove}
		for _, part := range strings.Split(text, ",") {
			kind, name, named := strings.Cut(part, "=")
			e := metadata.QuotaEntity{Type: kind}
			if named {
				e.Name = &name
			}
			r.Entity = append(r.Entity, e)
		}
		records = append(records, r)
	}
	if err := h.store.Append(records); err != nil {
		h.Fatal(err)
	}
}

// describe lists the entities that pass a filter.
func (h *quotaHistory) describe(parts []string, strict bool) string {
	request := &kmsg.DescribeClientQuotasRequest{Strict: strict}
	for _, part := range parts {
		kind, name, named := strings.Cut(part, "=")
		c := kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, MatchType: kmsg.QuotasMatchTypeDefault}
		if named && name == "*" {
			c.MatchType = kmsg.QuotasMatchTypeAny
		} else if named {
			c.MatchType, c.Match = kmsg.QuotasMatchTypeExact, &name
		}
		request.Components = append(request.Components, c)
	}
	var found []string
	for _, q := range filteredQuotas(h.store.Image().Quotas(), request) {
		var entity []string
		for _, e := range describedQuota(q).Entity {
			if e.Name != nil {
				e.Type += "=" + *e.Name
			}
			entity = append(entity, e.Type)
		}
		found = append(found, strings.Join(entity, ","))
	}
	return strings.Join(found, " ")
}

// TestQuotasAreShownInKafkasOrder repeats what Kafka's own classes answered, see testdata/quotaorder.
func TestQuotasAreShownInKafkasOrder(t *testing.T) {
	recorded, err := os.ReadFile("testdata/quotaorder/recorded.txt")
	if err != nil {
		t.Fatal(err)
	}
	h := &quotaHistory{T: t}
	described := 0
	for number, line := range strings.Split(strings.TrimSpace(string(recorded)), "\n") {
		line, want, _ := strings.Cut(line, " => ")
		words := strings.Fields(line)
		switch words[0] {
		case "fresh":
			h.close()
			h.dir = t.TempDir()
			h.open()
		case "restart":
			h.close()
			h.open()
		case "alter":
			h.alter(words[1:])
		case "describe", "describe!":
			described++
			if got := h.describe(words[1:], words[0] == "describe!"); got != strings.TrimSpace(want) {
				t.Errorf("line %d, %s:\n got %s\nwant %s", number+1, line, got, want)
			}
		default:
			t.Fatalf("line %d: what is %q?", number+1, words[0])
		}
	}
	h.close()
	if described == 0 {
		t.Error("nothing was described")
	}
}
