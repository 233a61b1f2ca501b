package metadata

import (
	"sync"
	"testing"
)

// TestEncodingWritesNothingBack encodes the same records from several goroutines: what is encoded may be shared, as the
// table of supported features is. The race detector is the judge.
func TestEncodingWritesNothingBack(t *testing.T) {
	records := []Record{
		&RegisterControllerRecord{Features: supportedFeatures},
		&RegisterBrokerRecord{Features: supportedFeatures},
		&ConfigRecord{ResourceType: ResourceTopic, ResourceName: "t", Name: "retention.ms"},
		&ClientQuotaRecord{},
		&FeatureLevelRecord{Name: featureMetadataVersion, Level: levelMax},
	}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for _, r := range records {
				if len(AppendRecord(nil, r, 0)) == 0 {
					t.Errorf("%T encodes to nothing", r)
				}
			}
		})
	}
	work.Wait()
}
