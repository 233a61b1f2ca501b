package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
)

// AlterReplicaLogDirs, versions 1 and 2.
//
// Partitions are copied to another of this node's log dirs in the background
// and served meanwhile; the answer says that it has begun. Another request for
// the same partition ends a move that is under way. Mistakes are answered as
// Kafka answers them.

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
	switch {
	case target == nil:
		return &apiError{code: codeLogDirNotFound}
	case isCordoned(a.layers().List("cordoned.log.dirs"), target.Path):
		return &apiError{code: codeInvalidReplicaAssignment}
	}
	if _, err := a.partitions.Get(tp); err != nil {
		return err
	}
	if err := a.store.BeginMove(tp, target); err != nil {
		a.log.Error("Error while changing replica dir for partition "+tp.String(), "error", err)
		return err
	}
	return nil
}
