package handlers

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
)

// DescribeLogDirs, versions 1 to 5.
//
// Every log dir is listed, with those of the wanted partitions that lie in it;
// the others are left out without a word. One that failed is listed with
// KAFKA_STORAGE_ERROR and nothing in it. A null list of topics means all
// partitions, an empty one none. A copy on its way to another log dir is listed
// there, with how far it is behind.

func (a *API) describeLogDirs(_ context.Context, _ *protocol.Request, body *kmsg.DescribeLogDirsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeLogDirsResponse()
	answer.Version = body.Version
	perDir := make(map[*logstore.Dir][]*logstore.Log)
	for _, log := range a.logsOf(body) {
		if dir := a.store.LogDir(log.TopicPartition()); dir != nil { // else it was deleted meanwhile
			perDir[dir] = append(perDir[dir], log)
		}
	}
	moves := a.store.Moves()
	cordoned := a.layers().List("cordoned.log.dirs")
	for _, dir := range a.store.Dirs() {
		d := kmsg.NewDescribeLogDirsResponseDir()
		d.Dir = absolute(dir.Path)
		total, usable, err := dir.DiskSpace()
		if err != nil {
			d.ErrorCode = codeKafkaStorageError
			a.log.Error("disk space is not known", "dir", dir.Path, "error", err)
		} else {
			d.TotalBytes, d.UsableBytes = total, usable
		}
		d.IsCordoned = isCordoned(cordoned, dir.Path)
		d.Topics = a.describedLogs(perDir[dir])
		addFutures(&d, dir, moves, body)
		answer.Dirs = append(answer.Dirs, d)
	}
	for _, path := range a.store.OfflineDirs() {
		d := kmsg.NewDescribeLogDirsResponseDir()
		d.Dir, d.ErrorCode = absolute(path), codeKafkaStorageError
		answer.Dirs = append(answer.Dirs, d)
	}
	return answer, nil
}

// isCordoned reports whether a log dir takes no new replicas.
func isCordoned(cordoned []string, path string) bool {
	return slices.Contains(cordoned, "*") || slices.Contains(cordoned, path)
}

// addFutures adds the copies that are made in a log dir.
func addFutures(d *kmsg.DescribeLogDirsResponseDir, dir *logstore.Dir, moves []logstore.Move, body *kmsg.DescribeLogDirsRequest) {
	for _, m := range moves {
		tp := m.Source.TopicPartition()
		if m.To != dir || !isWanted(tp, body) {
			continue
		}
		at := slices.IndexFunc(d.Topics, func(t kmsg.DescribeLogDirsResponseDirTopic) bool { return t.Topic == tp.Topic })
		if at < 0 {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = tp.Topic
			at, d.Topics = len(d.Topics), append(d.Topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size, p.IsFuture = tp.Partition, m.Future.Size(), true
		p.OffsetLag = max(m.Source.EndOffset()-m.Future.EndOffset(), 0)
		d.Topics[at].Partitions = append(d.Topics[at].Partitions, p)
	}
}

// isWanted reports whether a request asks for a partition.
func isWanted(tp logstore.TopicPartition, body *kmsg.DescribeLogDirsRequest) bool {
	return body.Topics == nil || slices.ContainsFunc(body.Topics, func(t kmsg.DescribeLogDirsRequestTopic) bool {
		return t.Topic == tp.Topic && slices.Contains(t.Partitions, tp.Partition)
	})
}

// absolute is the path as clients see it.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// logsOf lists the logs that a request asks for, each once.
func (a *API) logsOf(body *kmsg.DescribeLogDirsRequest) []*logstore.Log {
	if body.Topics == nil {
		return a.store.Logs()
	}
	var logs []*logstore.Log
	seen := make(map[logstore.TopicPartition]bool)
	for i := range body.Topics {
		for _, p := range body.Topics[i].Partitions {
			tp := logstore.TopicPartition{Topic: body.Topics[i].Topic, Partition: p}
			if log := a.store.Log(tp); log != nil && !seen[tp] {
				seen[tp] = true
				logs = append(logs, log)
			}
		}
	}
	return logs
}

// describedLogs groups logs by topic.
func (a *API) describedLogs(logs []*logstore.Log) []kmsg.DescribeLogDirsResponseDirTopic {
	slices.SortFunc(logs, func(x, y *logstore.Log) int {
		p, q := x.TopicPartition(), y.TopicPartition()
		if c := strings.Compare(p.Topic, q.Topic); c != 0 {
			return c
		}
		return int(p.Partition) - int(q.Partition)
	})
	var topics []kmsg.DescribeLogDirsResponseDirTopic
	for _, log := range logs {
		tp := log.TopicPartition()
		if n := len(topics); n == 0 || topics[n-1].Topic != tp.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = tp.Topic
			topics = append(topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size, p.OffsetLag = tp.Partition, log.Size(), a.offsetLag(log)
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return topics
}

// offsetLag is how far a log is behind its high watermark: not at all, or -1
// for a log that no partition leads.
func (a *API) offsetLag(log *logstore.Log) int64 {
	p, err := a.partitions.Get(log.TopicPartition())
	if err != nil {
		return -1
	}
	return max(p.HighWatermark()-log.EndOffset(), 0)
}
