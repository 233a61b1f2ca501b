package handlers

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// UpdateFeatures, versions 0 to 2.
//
// Levels are checked by Kafka's rules and go to the metadata log; all updates of
// a request are made, or none. Raising kraft.version has the metadata log name
// this node as the one voter.

// How a level may change.
const (
	upgradeOnly     int8 = 1
	safeDowngrade   int8 = 2
	unsafeDowngrade int8 = 3
)

const (
	metadataVersion = "metadata.version"
	kraftVersion    = "kraft.version"
	elrVersion      = "eligible.leader.replicas.version"
	elrNeeds        = 23 // the metadata.version that elrVersion 1 needs
)

// metadataChanged says of a level of metadata.version of Apache Kafka 4.4.0
// whether the form of the metadata changed at it: a downgrade across one would
// lose what the metadata log holds.
func metadataChanged(level int16) bool {
	switch level {
	case 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33:
		return true
	}
	return false
}

func (a *API) updateFeatures(_ context.Context, _ *protocol.Request, body *kmsg.UpdateFeaturesRequest) (kmsg.Response, error) {
	a.configChange.Lock()
	defer a.configChange.Unlock()
	answer := kmsg.NewPtrUpdateFeaturesResponse()
	answer.Version = body.Version
	levels, err := a.planFeatures(body)
	if err == nil && !body.ValidateOnly && len(levels) > 0 {
		if err = changeError(a.meta.UpdateFeatures(levels)); err != nil {
			a.log.Error("features were not updated", "error", err)
		}
	}
	answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	if err == nil && body.Version < 2 {
		for i := range body.FeatureUpdates {
			r := kmsg.NewUpdateFeaturesResponseResult()
			r.Feature = body.FeatureUpdates[i].Feature
			answer.Results = append(answer.Results, r)
		}
	}
	return answer, nil
}

// planFeatures makes the levels of a request. Of updates of one feature the
// last counts.
func (a *API) planFeatures(body *kmsg.UpdateFeaturesRequest) ([]metadata.FeatureLevelRecord, error) {
	image := a.meta.Image()
	wanted := make(map[string]int16)
	for i := range body.FeatureUpdates {
		wanted[body.FeatureUpdates[i].Feature] = body.FeatureUpdates[i].MaxVersionLevel
	}
	var levels []metadata.FeatureLevelRecord
	for i := range body.FeatureUpdates {
		u := &body.FeatureUpdates[i]
		if slices.ContainsFunc(body.FeatureUpdates[i+1:], func(o kmsg.UpdateFeaturesRequestFeatureUpdate) bool { return o.Feature == u.Feature }) {
			continue
		}
		current := image.Features[u.Feature]
		if u.Feature == kraftVersion {
			current = image.KRaftVersion()
		}
		err := a.checkFeature(u.Feature, current, u.MaxVersionLevel, upgradeKind(body.Version, u))
		if err == nil {
			err = checkFeatureNeeds(image, u, wanted)
		}
		if err != nil {
			return nil, &apiError{errorCode(err), "The update failed for all features since the following feature had an error: " + err.Error()}
		}
		levels = append(levels, metadata.FeatureLevelRecord{Name: u.Feature, Level: u.MaxVersionLevel})
	}
	return levels, nil
}

// upgradeKind is how a level may change; version 0 has another form for it.
func upgradeKind(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate) int8 {
	switch {
	case version > 0:
		return u.UpgradeType
	case u.AllowDowngrade:
		return safeDowngrade
	}
	return upgradeOnly
}

// checkFeature checks one change of a level.
func (a *API) checkFeature(name string, current, level int16, kind int8) error {
	refuse := func(why string) error {
		return &apiError{codeInvalidUpdateVersion, fmt.Sprintf("Invalid update version %d for feature %s. %s", level, name, why)}
	}
	supported := protocol.SupportedFeatures()
	at := slices.IndexFunc(supported, func(f protocol.Feature) bool { return f.Name == name })
	switch {
	case kind < upgradeOnly || kind > unsafeDowngrade:
		return refuse("The controller does not support the given upgrade type.")
	case level < 0:
		return refuse("A feature version cannot be less than 0.")
	case at < 0 && level != 0:
		return refuse(fmt.Sprintf("Local controller %d does not support this feature.", a.config.NodeID()))
	case at >= 0 && (level < supported[at].Min || level > supported[at].Max):
		return refuse(fmt.Sprintf("Local controller %d only supports versions %d-%d", a.config.NodeID(), supported[at].Min, supported[at].Max))
	case level < current && kind == upgradeOnly:
		return refuse("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case level > current && kind != upgradeOnly:
		return refuse("Can't downgrade to a newer version.")
	case at < 0:
		return refuse("Feature " + name + " not found.")
	case name == kraftVersion && level < current:
		return refuse("Can't downgrade the version of this feature.")
	case name == metadataVersion && level < current:
		return checkMetadataDowngrade(current, level, kind)
	}
	return nil
}

// checkMetadataDowngrade allows a lower metadata.version while nothing can be
// lost by it.
func checkMetadataDowngrade(current, level int16, kind int8) error {
	for l := current; l > level; l-- {
		if !metadataChanged(l) {
			continue
		}
		why := "Refusing to perform the requested downgrade because it might delete metadata information."
		if kind == unsafeDowngrade {
			why = "Unsafe metadata downgrade is not supported in this version."
		}
		return &apiError{codeInvalidUpdateVersion, fmt.Sprintf("Unsupported metadata.version downgrade from %d to %d. %s", current, level, why)}
	}
	return nil
}

// checkFeatureNeeds refuses a level that needs another feature's.
func checkFeatureNeeds(image *metadata.Image, u *kmsg.UpdateFeaturesRequestFeatureUpdate, wanted map[string]int16) error {
	if u.Feature != elrVersion || u.MaxVersionLevel == 0 {
		return nil
	}
	level, changes := wanted[metadataVersion]
	if !changes {
		level = image.Features[metadataVersion]
	}
	if level < elrNeeds {
		return &apiError{codeInvalidUpdateVersion, fmt.Sprintf("Invalid update version %d for feature %s. %s could not be set to %d because it depends on %s level %d",
			u.MaxVersionLevel, u.Feature, u.Feature, u.MaxVersionLevel, metadataVersion, elrNeeds)}
	}
	return nil
}
