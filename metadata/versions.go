package metadata

// Names of the features that this package looks at.
const (
	featureMetadataVersion = "metadata.version"
	featureKRaftVersion    = "kraft.version"
	featureELR             = "eligible.leader.replicas.version"
)

// Levels of metadata.version at which the form of the log changed. Measured
// on Apache Kafka 4.4.0, whose lowest and highest level are these.
const (
	levelMin                    int16 = 7 // 3.3-IV3
	levelMigration              int16 = 8
	levelNoEpochBumpOnShrink    int16 = 12
	levelTransactions           int16 = 13
	levelControllerRegistration int16 = 15
	levelDirectories            int16 = 17
	levelELR                    int16 = 23
	levelCordonedDirs           int16 = 30
	levelMax                    int16 = 33 // 4.4-IV2
)

// supportedFeatures are the features of a node of Apache Kafka 4.4.0 and
// the levels that it can work with, in the order in which it registers them.
var supportedFeatures = []FeatureRange{
	{Name: "group.version", Min: 0, Max: 1},
	{Name: featureKRaftVersion, Min: 0, Max: 1},
	{Name: featureMetadataVersion, Min: levelMin, Max: levelMax},
	{Name: "share.version", Min: 0, Max: 2},
	{Name: "streams.version", Min: 0, Max: 1},
	{Name: "transaction.version", Min: 0, Max: 2},
	{Name: featureELR, Min: 0, Max: 1},
}

// writtenVersion is the schema version that a record is written in at a level
// of metadata.version.
func writtenVersion(r Record, level int16) int16 {
	switch r := r.(type) {
	case *RegisterBrokerRecord:
		switch {
		case level >= levelCordonedDirs:
			return 4
		case level >= levelDirectories:
			return 3
		case level >= levelMigration:
			return 2
		}
		return 1
	case *PartitionRecord, *PartitionChangeRecord:
		switch {
		case level >= levelELR:
			return 2
		case level >= levelDirectories:
			return 1
		}
		return 0
	case *BrokerRegistrationChangeRecord:
		switch {
		case r.CordonedLogDirs != nil:
			return 3
		case len(r.LogDirs) > 0:
			return 2
		case r.InControlledShutdown != 0:
			return 1
		}
		return 0
	}
	return 0
}
