package handlers

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// DescribeQuorum, versions 0 to 2.
//
// The quorum of the metadata log is this node: its only voter and leader, never
// behind. As in Kafka a request must name that log's one partition and nothing
// else; otherwise everything it names is unknown.

// metadataPartition is the only partition of the metadata log.
const metadataPartition = 0

func (a *API) describeQuorum(_ context.Context, _ *protocol.Request, body *kmsg.DescribeQuorumRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeQuorumResponse()
	answer.Version = body.Version
	answer.ErrorMessage = new(string)
	only := len(body.Topics) == 1 && body.Topics[0].Topic == metadataTopic &&
		len(body.Topics[0].Partitions) == 1 && body.Topics[0].Partitions[0].Partition == metadataPartition
	for i := range body.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = body.Topics[i].Topic
		for _, asked := range body.Topics[i].Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			if only {
				p = a.quorum()
			} else {
				err := usualError(codeUnknownTopicOrPartition)
				p.ErrorCode, p.ErrorMessage = errorCode(err), errorMessage(err)
			}
			p.Partition = asked.Partition
			t.Partitions = append(t.Partitions, p)
		}
		answer.Topics = append(answer.Topics, t)
	}
	if only {
		answer.Nodes = quorumNodes(a.meta.Image())
	}
	return answer, nil
}

func (a *API) quorum() kmsg.DescribeQuorumResponseTopicPartition {
	now := time.Now().UnixMilli()
	image := a.meta.Image()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.ErrorMessage = new(string)
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = a.config.NodeID(), a.meta.LeaderEpoch(), image.LastOffset+1
	voter := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	voter.ReplicaID, voter.LogEndOffset = p.LeaderID, p.HighWatermark
	for _, v := range image.Voters() {
		if v.ID == p.LeaderID {
			voter.ReplicaDirectoryID = v.DirectoryID
		}
	}
	voter.LastFetchTimestamp, voter.LastCaughtUpTimestamp = now, now
	p.CurrentVoters = append(p.CurrentVoters, voter)
	return p
}

// quorumNodes lists the controller listeners as they are registered.
func quorumNodes(image *metadata.Image) []kmsg.DescribeQuorumResponseNode {
	n := kmsg.NewDescribeQuorumResponseNode()
	n.NodeID = image.NodeID
	if c, ok := image.Controllers()[image.NodeID]; ok {
		for _, e := range c.Endpoints {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
			n.Listeners = append(n.Listeners, l)
		}
	}
	return []kmsg.DescribeQuorumResponseNode{n}
}
