package metadata

import (
	"slices"
	"strings"
)

// releaseNames are Kafka's names of the levels of metadata.version from
// levelMin to levelMax.
var releaseNames = []string{
	"3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3",
	"3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0",
	"4.4-IV0", "4.4-IV1", "4.4-IV2",
}

// ReleaseName is Kafka's name of a level of metadata.version, "" when it has
// none.
func ReleaseName(level int16) string {
	if level < levelMin || level > levelMax {
		return ""
	}
	return releaseNames[level-levelMin]
}

// releaseLevel finds a level by its name (4.0-IV1) or by a release, which
// stands for the last level of that release (4.0, 4.0.1). What follows a
// second dot counts for nothing.
func releaseLevel(name string) (level int16, ok bool) {
	if parts := strings.SplitN(name, ".", 3); len(parts) == 3 {
		name = parts[0] + "." + parts[1]
	}
	if at := slices.Index(releaseNames, name); at >= 0 {
		return levelMin + int16(at), true
	}
	for at, known := range slices.Backward(releaseNames) {
		if release, _, _ := strings.Cut(known, "-"); release == name {
			return levelMin + int16(at), true
		}
	}
	return 0, false
}

// featureSince is the level of metadata.version from which on formatting gives
// a feature a level.
type featureSince struct {
	name         string
	since, level int16
}

// featuresByRelease are the levels that a release brings, measured on Apache
// Kafka 4.4.0 (kafka-storage.sh version-mapping). kraft.version is not among
// them: it follows from how the voters are known.
var featuresByRelease = []featureSince{
	{featureELR, 26, 1},
	{"group.version", 22, 1},
	{"share.version", 28, 1},
	{"share.version", 31, 2},
	{"streams.version", 29, 1},
	{"transaction.version", 24, 2},
}

// featuresOf are the levels other than 0 that a release brings.
func featuresOf(level int16) map[string]int16 {
	levels := map[string]int16{}
	for _, f := range featuresByRelease {
		if level >= f.since {
			levels[f.name] = f.level
		}
	}
	return levels
}
