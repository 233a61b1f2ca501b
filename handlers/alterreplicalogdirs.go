package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
)

// AlterReplicaLogDirs, versions 1 and 2.
//
// A partition that is to be where it is stays there; mistakes are answered as
// Kafka answers them. Moving a partition to another of this node's log dirs is
// refused with INVALID_REQUEST, whose text sends people to the log, which says
// what to do: Kafka would copy it in the background.

func (a *API) alterReplicaLogDirs(_ context.Context, _ *protocol.Request, body *kmsg.AlterReplicaLogDirsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrAlterReplicaLogDirsResponse()
	answer.Version = body.Version
	at := make(map[string]int)
	for i := range body.Dirs {
		dir := &body.Dirs[i]
		for j := range dir.Topics {
			name := dir.Topics[j].Topic
			n, ok := at[name]
			if !ok {
				n = len(answer.Topics)
				at[name] = n
				t := kmsg.NewAlterReplicaLogDirsResponseTopic()
				t.Topic = name
				answer.Topics = append(answer.Topics, t)
			}
			for _, number := range dir.Topics[j].Partitions {
				p := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				p.Partition = number
				p.ErrorCode = errorCode(a.moveReplica(logstore.TopicPartition{Topic: name, Partition: number}, dir.Dir))
				answer.Topics[n].Partitions = append(answer.Topics[n].Partitions, p)
			}
		}
	}
	return answer, nil
}

// futureDirRoom is what a log dir's name must have room for while it is the copy
// of another: a dot, an id of 32 digits and an ending.
const futureDirRoom = len(".") + 32 + len("-future")

// moveReplica moves a partition to another log dir.
func (a *API) moveReplica(tp logstore.TopicPartition, path string) error {
	if len(tp.String())+futureDirRoom > 255 {
		return &apiError{code: codeInvalidTopicException}
	}
	var target *logstore.Dir
	for _, d := range a.store.Dirs() {
		if absolute(d.Path) == path {
			target = d
		}
	}
	if target == nil {
		return &apiError{code: codeLogDirNotFound}
	}
	if _, err := a.partitions.Get(tp); err != nil {
		return err
	}
	if a.store.LogDir(tp) == target {
		return nil
	}
	a.log.Warn("partition " + tp.String() + " is not moved to " + path + ": partitions stay in their log dir while the broker runs. " +
		"Stop it, move the directory and start it again")
	return &apiError{code: codeInvalidRequest}
}
