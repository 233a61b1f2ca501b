package protocol

import "slices"

// Feature is a cluster feature and the levels that can be set.
type Feature struct {
	// Name is as in ApiVersions, such as "metadata.version".
	Name string
	// Min and Max are the levels; 0 is off.
	Min, Max int16
}

// featureTable is what Apache Kafka 4.4.0 reports, sorted by name.
var featureTable = [...]Feature{
	{"eligible.leader.replicas.version", 0, 1},
	{"group.version", 0, 1},
	{"kraft.version", 0, 1},
	{"metadata.version", 7, 33},
	{"share.version", 0, 2},
	{"streams.version", 0, 1},
	{"transaction.version", 0, 2},
}

// SupportedFeatures lists the features of Apache Kafka 4.4.0, sorted by name.
func SupportedFeatures() []Feature { return slices.Clone(featureTable[:]) }
