package protocol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// API is one line of the table of requests.
type API struct {
	// Key is the number on the wire.
	Key int16
	// Name is that of the kmsg request without its ending.
	Name string
	// Min and Max are the versions that ApiVersions lists.
	Min, Max int16
	// MinServed is the least version that is answered; a listed version below
	// it closes the connection, as Produce 0 to 2 do.
	MinServed int16
	// Hidden APIs are answered but not listed.
	Hidden bool
}

// served is an API together with what is needed to decode its requests.
type served struct {
	API
	flexible int16
	shape    *shape
}

// Versions is the table of what a broker serves. It never changes.
type Versions struct {
	byKey [len(apiTable) + 16]*served // index is the key; nil is not served
}

// NewVersions makes the table of the given keys, each with the versions that
// Apache Kafka 4.4.0 serves. A key that Kafka does not serve on a broker
// listener is an error.
func NewVersions(keys ...int16) (*Versions, error) {
	v := &Versions{}
	for _, key := range keys {
		row := rowOf(key)
		if row == nil {
			return nil, fmt.Errorf("API key %d is not one of Kafka's broker APIs", key)
		}
		shape, err := newShape(row.shape)
		if err != nil {
			return nil, fmt.Errorf("API %s: %w", row.Name, err)
		}
		v.byKey[key] = &served{API: row.API, flexible: row.flexible, shape: shape}
	}
	return v, nil
}

// Within returns a copy of the table in which one API is served in fewer versions.
func (v *Versions) Within(key, minVersion, maxVersion int16) (*Versions, error) {
	old := v.find(key)
	if old == nil || minVersion < old.Min || maxVersion > old.Max || minVersion > maxVersion {
		return nil, fmt.Errorf("API %s cannot be narrowed to versions %d to %d", KeyName(key), minVersion, maxVersion)
	}
	narrowed := *old
	narrowed.Min, narrowed.Max = minVersion, maxVersion
	narrowed.MinServed = max(old.MinServed, minVersion)
	table := *v
	table.byKey[key] = &narrowed
	return &table, nil
}

// Lookup finds an API that is served; hidden ones too.
func (v *Versions) Lookup(key int16) (API, bool) {
	if s := v.find(key); s != nil {
		return s.API, true
	}
	return API{}, false
}

// Served says whether requests of this key and version are answered.
func (v *Versions) Served(key, version int16) bool {
	s := v.find(key)
	return s != nil && s.MinServed <= version && version <= s.Max
}

// APIs lists all that is served, sorted by key; hidden ones too.
func (v *Versions) APIs() []API {
	var all []API
	for _, s := range v.byKey {
		if s != nil {
			all = append(all, s.API)
		}
	}
	return all
}

// Response builds the successful answer to ApiVersions. Finalized maps the
// names of features to their levels; a level of 0 is left out, as a feature that
// is off has never been finalized. Epoch is the offset of the metadata log that
// the levels were read at.
func (v *Versions) Response(version int16, finalized map[string]int16, epoch int64) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	for _, s := range v.byKey {
		if s != nil && !s.Hidden {
			resp.ApiKeys = append(resp.ApiKeys, s.listed())
		}
	}
	for _, f := range featureTable {
		if version == 3 && f.Min == 0 {
			continue // clients that know no more than version 3 take a least level of 0 for a fault
		}
		supported := kmsg.NewApiVersionsResponseSupportedFeature()
		supported.Name, supported.MinVersion, supported.MaxVersion = f.Name, f.Min, f.Max
		resp.SupportedFeatures = append(resp.SupportedFeatures, supported)
	}
	for name, level := range finalized {
		if level == 0 {
			continue
		}
		feature := kmsg.NewApiVersionsResponseFinalizedFeature()
		feature.Name, feature.MinVersionLevel, feature.MaxVersionLevel = name, level, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, feature)
	}
	slices.SortFunc(resp.FinalizedFeatures, func(a, b kmsg.ApiVersionsResponseFinalizedFeature) int {
		return strings.Compare(a.Name, b.Name)
	})
	resp.FinalizedFeaturesEpoch = epoch
	return resp
}

// UnsupportedVersion answers ApiVersions in a version that is not known: code 35
// in version 0, listing ApiVersions alone, so that the client can ask again.
func (v *Versions) UnsupportedVersion() *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = 35
	if s := v.find(apiVersionsKey); s != nil {
		resp.ApiKeys = append(resp.ApiKeys, s.listed())
	}
	return resp
}

func (s *served) listed() kmsg.ApiVersionsResponseApiKey {
	key := kmsg.NewApiVersionsResponseApiKey()
	key.ApiKey, key.MinVersion, key.MaxVersion = s.Key, s.Min, s.Max
	return key
}

func (v *Versions) find(key int16) *served {
	if key < 0 || int(key) >= len(v.byKey) {
		return nil
	}
	return v.byKey[key]
}

func rowOf(key int16) *apiRow {
	if key >= 0 && int(key) < len(apiTable) && apiTable[key].Key == key {
		return &apiTable[key] // the first keys stand at their own place
	}
	i, ok := slices.BinarySearchFunc(apiTable[:], key, func(r apiRow, key int16) int { return int(r.Key) - int(key) })
	if !ok {
		return nil
	}
	return &apiTable[i]
}

// isFlexible says whether a version of an API has compact lengths and tags.
func isFlexible(key, version int16) bool {
	row := rowOf(key)
	return row != nil && version >= row.flexible
}

// KeyName is the name of an API, or "Unknown".
func KeyName(key int16) string {
	return kmsg.NameForKey(key)
}
