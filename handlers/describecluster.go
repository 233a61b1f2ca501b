package handlers

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// DescribeCluster, versions 0 to 2.
//
// Only broker endpoints are served. No broker is ever fenced here, so that the
// wish to see fenced ones changes nothing.

const (
	brokerEndpoints     int8 = 1
	controllerEndpoints int8 = 2
)

func (a *API) describeCluster(_ context.Context, req *protocol.Request, body *kmsg.DescribeClusterRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeClusterResponse()
	answer.Version = body.Version
	if err := checkEndpointType(body); err != nil {
		answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
		return answer, nil
	}
	answer.ClusterID = a.meta.Image().ClusterID
	answer.ControllerID = -1 // where clients cannot reach any broker
	if body.IncludeClusterAuthorizedOperations {
		answer.ClusterAuthorizedOperations = clusterOperations
	}
	if endpoint, ok := a.advertised(req.Listener); ok {
		broker := kmsg.NewDescribeClusterResponseBroker()
		answer.ControllerID = a.config.NodeID()
		broker.NodeID, broker.Host, broker.Port = a.config.NodeID(), endpoint.Host, endpoint.Port
		broker.Rack = a.rack()
		answer.Brokers = append(answer.Brokers, broker)
	}
	return answer, nil
}

func checkEndpointType(body *kmsg.DescribeClusterRequest) error {
	switch {
	case body.Version < 1 || body.EndpointType == brokerEndpoints:
		return nil
	case body.EndpointType == controllerEndpoints:
		return &apiError{codeMismatchedEndpointType,
			"The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"}
	}
	return &apiError{codeUnsupportedEndpointType, fmt.Sprintf("Unsupported endpoint type %d", body.EndpointType)}
}
