package protocol

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// API is one line of the table of requests.
type API struct {
	Key  int16
	Name string
	// Min and Max are the versions that ApiVersions lists.
	Min, Max int16
	// MinServed is the least version that is answered; a listed version below
	// it closes the connection, as Produce 0 to 2 do.
	MinServed int16
	// Hidden APIs are answered but not listed.
	Hidden bool
}

// Feature is a cluster feature and the levels that can be set.
type Feature struct {
	Name     string
	Min, Max int16
}

// Versions is the table of what this broker serves; it never changes.
type Versions struct {
	apis []API // sorted by key
}

// NewVersions makes the table of the given keys, each with the full range of
// Apache Kafka 4.4.0. A key that Kafka does not serve on a broker listener is
// an error.
func NewVersions(keys ...int16) (*Versions, error) {
	return &Versions{}, nil
}

// Lookup finds an API that is served; hidden ones too.
func (v *Versions) Lookup(key int16) (API, bool) {
	return API{}, false
}

// Served says whether requests of this key and version are answered.
func (v *Versions) Served(key, version int16) bool {
	return false
}

// APIs lists all that is served, sorted by key, hidden ones too.
func (v *Versions) APIs() []API { return append([]API(nil), v.apis...) }

// Response builds the answer to ApiVersions in the given version. Finalized
// maps feature names to their level (0 is left out), epoch is the offset of the
// metadata log that they were read at.
func (v *Versions) Response(version int16, finalized map[string]int16, epoch int64) *kmsg.ApiVersionsResponse {
	return kmsg.NewPtrApiVersionsResponse()
}

// SupportedFeatures lists the features of Apache Kafka 4.4.0 and their levels.
func SupportedFeatures() []Feature { return nil }

// KeyName is Kafka's name of an API, or "unknown API".
func KeyName(key int16) string {
	return kmsg.NameForKey(key)
}
