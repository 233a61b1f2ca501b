package metadata

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// FormatError is why a directory is not formatted, in Kafka's words.
type FormatError struct{ Text string }

// Error is the text.
func (e *FormatError) Error() string { return e.Text }

func refuseFormat(format string, args ...any) *FormatError {
	return &FormatError{fmt.Sprintf(format, args...)}
}

// Format is what the metadata log of a new cluster begins with.
type Format struct {
	Level       int16 // of metadata.version
	Features    map[string]int16
	Credentials []*UserScramCredentialRecord
	// Dynamic says that voters are named by the metadata (kraft.version 1) and
	// not by the configuration. Without Voters a controller has to be added
	// before the cluster can be used.
	Dynamic bool
	Voters  []Voter
}

// NewFormat works out the levels of a new cluster: those that a release
// brings ("" is the newest), then the ones that features, "name=level", ask
// for. dynamic is as in Format. Errors are *FormatError.
func NewFormat(release string, features []string, dynamic bool) (*Format, error) {
	asked, err := parseFeatures(features)
	if err != nil {
		return nil, err
	}
	f := &Format{Level: levelMax, Dynamic: dynamic}
	if level, ok := asked[featureMetadataVersion]; ok {
		if release != "" {
			return nil, refuseFormat("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
		}
		if level < levelMin || level > levelMax {
			return nil, refuseFormat("No MetadataVersion with feature level %d. Valid feature levels are from %d to %d.", level, levelMin, levelMax)
		}
		f.Level = level
	}
	if release != "" {
		level, ok := releaseLevel(release)
		if !ok {
			return nil, refuseFormat("Unknown metadata.version '%s'. Supported metadata.version are: %s", release, strings.Join(releaseNames, ", "))
		}
		f.Level = level
	}
	f.Features = featuresOf(f.Level)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if err := f.ask(name, asked[name]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// parseFeatures reads "name=level"; of a feature named twice the last counts.
func parseFeatures(features []string) (map[string]int16, error) {
	asked := map[string]int16{}
	for _, text := range features {
		name, level, ok := strings.Cut(text, "=")
		if !ok {
			return nil, refuseFormat("Can't parse feature=level string %s: equals sign not found.", text)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(level), 10, 16)
		if err != nil {
			return nil, refuseFormat("Can't parse feature=level string %s: unable to parse %s as a short.", text, strings.TrimSpace(level))
		}
		asked[strings.TrimSpace(name)] = int16(n)
	}
	return asked, nil
}

// ask sets the level of one feature.
func (f *Format) ask(name string, level int16) error {
	switch at := slices.IndexFunc(supportedFeatures, func(s FeatureRange) bool { return s.Name == name }); {
	case name == featureMetadataVersion:
		return nil
	case at < 0:
		return refuseFormat("Unsupported feature: %s. Supported features are: %s", name, strings.Join(otherFeatures(), ", "))
	case name == featureKRaftVersion && !f.Dynamic && level > 0:
		return refuseFormat("Cannot set kraft.version to %d unless controller.quorum.voters is empty and one of the flags --standalone, "+
			"--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try using one of --standalone, "+
			"--initial-controllers, or --no-initial-controllers and removing controller.quorum.voters.", level)
	case name == featureKRaftVersion && f.Dynamic && level == 0:
		return refuseFormat("Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, " +
			"--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try removing the --feature flag for kraft.version.")
	case level < supportedFeatures[at].Min || level > supportedFeatures[at].Max:
		return refuseFormat("No feature:%s with feature level %d", name, level)
	case name == featureELR && level > 0 && f.Level < levelELR:
		return refuseFormat("%s could not be set to %d because it depends on metadata.version level %d", name, level, levelELR)
	case name == featureKRaftVersion:
		return nil
	}
	f.Features[name] = level
	return nil
}

// otherFeatures are the names of all features but metadata.version, sorted.
func otherFeatures() []string {
	var names []string
	for _, s := range supportedFeatures {
		if s.Name != featureMetadataVersion {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// levelCredentials is the first level of metadata.version with SCRAM.
const levelCredentials int16 = 11

// AddCredential adds a user's credential. It is a *FormatError where the
// cluster's level has none.
func (f *Format) AddCredential(c *UserScramCredentialRecord) error {
	if f.Level < levelCredentials {
		return refuseFormat("SCRAM is only supported in metadata.version %s or later.", ReleaseName(levelCredentials))
	}
	f.Credentials = append(f.Credentials, c)
	return nil
}

// Levels are the features with a level above 0: metadata.version, then the
// others by name.
func (f *Format) Levels() []FeatureLevelRecord {
	levels := []FeatureLevelRecord{{Name: featureMetadataVersion, Level: f.Level}}
	for _, name := range slices.Sorted(maps.Keys(f.Features)) {
		if f.Features[name] > 0 {
			levels = append(levels, FeatureLevelRecord{Name: name, Level: f.Features[name]})
		}
	}
	return levels
}

func (f *Format) records() []Record {
	var records []Record
	for _, level := range f.Levels() {
		records = append(records, &level)
	}
	for _, c := range f.Credentials {
		records = append(records, c)
	}
	return records
}

// Write writes the 0-0 checkpoint into the metadata log's directory in logDir,
// which it makes when it is missing.
func (f *Format) Write(fsys vfs.FS, logDir string) error {
	var control []ControlRecord
	if f.Dynamic {
		control = append(control, &KRaftVersion{Level: 1})
		if len(f.Voters) > 0 {
			control = append(control, &KRaftVoters{Voters: f.Voters})
		}
	}
	now := time.Now().UnixMilli()
	data, err := encodeSnapshot(SnapshotID{}, control, f.records(), f.Level, now, now)
	if err != nil {
		return err
	}
	dir := filepath.Join(logDir, DirName)
	if err := makeDir(fsys, dir); err != nil {
		return err
	}
	return writeSnapshot(fsys, dir, SnapshotID{}, data)
}

// NewVoter is this program as a voter, which can work with both ways to know
// the voters.
func NewVoter(id int32, directory logstore.UUID, endpoints []VoterEndpoint) Voter {
	return Voter{ID: id, DirectoryID: directory, Endpoints: endpoints, KRaftVersion: VoterRange{Min: 0, Max: 1}}
}
