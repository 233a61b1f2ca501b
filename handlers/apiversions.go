package handlers

import (
	"context"
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// ApiVersions, versions 0 to 5.
//
// Listed are the APIs of Options.Versions, the features that Kafka 4.4.0
// supports and the levels that the metadata log holds. From version 3 the
// client's software name and version must be well formed; version 5 checks the
// cluster and the node that the client believes to have reached.
//
// A version that is not known never comes here: protocol answers it.

func (a *API) apiVersions(_ context.Context, req *protocol.Request, body *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
	image := a.meta.Image()
	if code := a.checkApiVersions(image.ClusterID, req.Version, body); code != codeNone {
		answer := kmsg.NewPtrApiVersionsResponse()
		answer.Version = req.Version
		answer.ErrorCode = code
		return answer, nil
	}
	if req.Version >= 3 {
		req.SoftwareName, req.SoftwareVersion = body.ClientSoftwareName, body.ClientSoftwareVersion
	}
	return a.versions.Response(req.Version, finalizedFeatures(image), image.LastOffset), nil
}

// checkApiVersions returns the code that refuses the request, or codeNone.
func (a *API) checkApiVersions(clusterID string, version int16, body *kmsg.ApiVersionsRequest) int16 {
	if version >= 5 && (body.ClusterID == nil) != (body.NodeID == -1) {
		return codeInvalidRequest // only together do they name a node
	}
	if version >= 3 && !(softwareName(body.ClientSoftwareName) && softwareName(body.ClientSoftwareVersion)) {
		return codeInvalidRequest
	}
	if version >= 5 && body.ClusterID != nil && (*body.ClusterID != clusterID || body.NodeID != a.config.NodeID()) {
		return codeRebootstrapRequired
	}
	return codeNone
}

// softwareName says whether s consists of letters, digits, '-' and '.', and
// begins and ends with a letter or a digit.
func softwareName(s string) bool {
	for i := range len(s) {
		c := s[i]
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		inner := i > 0 && i < len(s)-1 && (c == '-' || c == '.')
		if !word && !inner {
			return false
		}
	}
	return s != ""
}

// finalizedFeatures are the levels other than 0, kraft.version with them, which the metadata log keeps in a form of its own.
func finalizedFeatures(image *metadata.Image) map[string]int16 {
	if image.KRaftVersion() == 0 {
		return image.Features
	}
	levels := maps.Clone(image.Features)
	levels[kraftVersion] = image.KRaftVersion()
	return levels
}
