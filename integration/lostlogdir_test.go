package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestLogDirFailsInUse takes one of two log dirs away from a broker in use. What is asked and answered was measured on
// Apache Kafka 4.4.0: the partitions there lose their leader and answer KAFKA_STORAGE_ERROR, the rest goes on, new
// topics go elsewhere; they are back with the directory. When the last one fails the broker ends.
func TestLogDirFailsInUse(t *testing.T) {
	b := newTwoDirs(t)
	b.start()
	b.create("two", 4)
	at := map[string][]int32{}
	for i := range int32(4) {
		b.produce("two", i, 0)
		dir := b.dirs[0]
		if _, err := os.Stat(filepath.Join(b.dirs[1], fmt.Sprintf("two-%d", i))); err == nil {
			dir = b.dirs[1]
		}
		at[dir] = append(at[dir], i)
	}
	lost := at[b.dirs[1]]
	if len(lost) != 2 {
		t.Fatalf("placed %v", at)
	}
	mend := breakDir(t, b.dirs[1])
	b.touch("two")
	b.awaitLine("Stopping serving logs in dir " + b.dirs[1])
	if !await(patience, func() bool { return slices.Equal(b.leaderless("two"), lost) }) {
		t.Fatalf("partitions %v have no leader, those of the lost directory are %v\n%s", b.leaderless("two"), lost, b.p.Output())
	}
	for i := range int32(4) {
		want := int16(0)
		if slices.Contains(lost, i) {
			want = kerr.KafkaStorageError.Code
		}
		b.produce("two", i, want)
		if _, code, err := b.conn.DeleteRecords("two", i, 0); err != nil || code != want {
			t.Errorf("delete records of partition %d: %v, error %d", i, err, code)
		}
	}
	b.wantLogDirs(lost)
	b.electWhileLost("two", lost)
	b.create("new", 3)
	for i := range int32(3) {
		b.produce("new", i, 0)
		if _, err := os.Stat(filepath.Join(b.dirs[0], fmt.Sprintf("new-%d", i))); err != nil {
			t.Error(err)
		}
	}
	b.conn.Close()
	b.p.Stop(t)
	mend()
	b.start()
	if have := b.leaderless("two"); len(have) > 0 {
		t.Errorf("partitions %v have no leader after the directory came back", have)
	}
	for _, i := range lost {
		if end, err := b.conn.ListOffset("two", i, -1); err != nil || end < 10 {
			t.Errorf("partition %d ends at %d: %v", i, end, err)
		}
	}
	b.deleteWhileLost()
}

// electWhileLost asks for leaders of partitions in a directory that failed: there are none to elect.
func (b *twoDirs) electWhileLost(topic string, lost []int32) {
	b.t.Helper()
	for kind, want := range []int16{kerr.PreferredLeaderNotAvailable.Code, kerr.EligibleLeadersNotAvailable.Code} {
		request := kmsg.NewElectLeadersRequest()
		request.ElectionType, request.TimeoutMillis = int8(kind), 5000
		asked := kmsg.NewElectLeadersRequestTopic()
		asked.Topic, asked.Partitions = topic, []int32{0, 1, 2, 3}
		request.Topics = append(request.Topics, asked)
		answer, err := b.conn.Request(&request, 2)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, p := range answer.(*kmsg.ElectLeadersResponse).Topics[0].Partitions {
			want := want
			if !slices.Contains(lost, p.Partition) {
				want = kerr.ElectionNotNeeded.Code
			}
			if p.ErrorCode != want {
				b.t.Errorf("election of kind %d in %s-%d: error %d %s, expected %d", kind, topic, p.Partition, p.ErrorCode, text(p.ErrorMessage), want)
			}
		}
	}
	if have := b.leaderless(topic); !slices.Equal(have, lost) {
		b.t.Errorf("partitions %v have no leader after the elections, expected %v", have, lost)
	}
}

// deleteWhileLost deletes a topic of which a part is lost, makes it again, and then takes the last directory away.
func (b *twoDirs) deleteWhileLost() {
	breakDir(b.t, b.dirs[1])
	b.touch("two")
	b.awaitLine("Stopping serving logs in dir " + b.dirs[1])
	request := kmsg.NewDeleteTopicsRequest()
	request.TopicNames, request.TimeoutMillis = []string{"two"}, 5000
	answer, err := b.conn.Request(&request, 4)
	if err != nil || answer.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode != 0 {
		b.t.Fatalf("delete: %v, %+v", err, answer)
	}
	b.create("two", 2)
	b.produce("two", 0, 0)
	b.produce("two", 1, 0)
	breakDir(b.t, b.dirs[0])
	_, _ = b.conn.Produce("two", 0, exampleBatches(b.t)[0]) // so that there is a checkpoint to write
	select {
	case <-b.p.exited:
	case <-time.After(patience):
		b.t.Fatalf("the broker goes on without a log dir:\n%s", b.p.Output())
	}
	if code := b.p.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(b.p.Output(), "have failed") {
		b.t.Errorf("ended with code %d:\n%s", code, b.p.Output())
	}
}

// twoDirs is a broker with two log dirs.
type twoDirs struct {
	t    *testing.T
	addr string
	dirs []string
	p    *Process
	conn *Conn
}

func newTwoDirs(t *testing.T) *twoDirs {
	top := t.TempDir()
	return &twoDirs{t: t, addr: freeAddr(t), dirs: []string{filepath.Join(top, "a"), filepath.Join(top, "b")}}
}

func (b *twoDirs) start() {
	b.t.Helper()
	b.p = startArgs(b.t, b.dirs[0], b.addr, []string{"--listen", b.addr, "--override", "log.dirs=" + strings.Join(b.dirs, ","),
		"--override", "log.retention.ms=-1", "--override", "replica.high.watermark.checkpoint.interval.ms=50"})
	var err error
	if b.conn, err = dial(b.addr); err != nil {
		b.t.Fatal(err)
	}
}

func (b *twoDirs) create(topic string, partitions int32) {
	b.t.Helper()
	if err := b.conn.CreateTopic(topic, partitions, nil); err != nil {
		b.t.Fatal(err)
	}
}

func (b *twoDirs) produce(topic string, partition int32, want int16) {
	b.t.Helper()
	if a, err := b.conn.Produce(topic, partition, exampleBatches(b.t)[0]); err != nil || a.ErrorCode != want {
		b.t.Errorf("produce to %s-%d: %v, error %d, expected %d", topic, partition, err, a.ErrorCode, want)
	}
}

// touch appends to all partitions of a topic, so that there is a checkpoint to write; whether they take it is not said.
func (b *twoDirs) touch(topic string) {
	b.t.Helper()
	for i := range int32(len(b.partitions(topic))) {
		if _, err := b.conn.Produce(topic, i, exampleBatches(b.t)[0]); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *twoDirs) awaitLine(line string) {
	b.t.Helper()
	if !await(patience, func() bool { return strings.Contains(b.p.Output(), line) }) {
		b.t.Fatalf("no line %q:\n%s", line, b.p.Output())
	}
}

func (b *twoDirs) partitions(topic string) []kmsg.MetadataResponseTopicPartition {
	b.t.Helper()
	request := kmsg.NewMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(topic)
	request.Topics = append(request.Topics, asked)
	answer, err := b.conn.Request(&request, 9)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.(*kmsg.MetadataResponse).Topics[0].Partitions
}

// leaderless lists the partitions that answer as those without a leader do.
func (b *twoDirs) leaderless(topic string) (numbers []int32) {
	b.t.Helper()
	for _, p := range b.partitions(topic) {
		switch {
		case p.Leader == -1 && p.ErrorCode == kerr.LeaderNotAvailable.Code && len(p.ISR) == 0 && slices.Equal(p.OfflineReplicas, []int32{1}):
			numbers = append(numbers, p.Partition)
		case p.Leader != 1 || p.ErrorCode != 0 || len(p.ISR) != 1 || len(p.OfflineReplicas) != 0:
			b.t.Errorf("%s-%d: %+v", topic, p.Partition, p)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// wantLogDirs expects the second directory to be offline and to hold nothing.
func (b *twoDirs) wantLogDirs(lost []int32) {
	b.t.Helper()
	request := kmsg.NewDescribeLogDirsRequest()
	answer, err := b.conn.Request(&request, 4)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, d := range answer.(*kmsg.DescribeLogDirsResponse).Dirs {
		if offline := d.Dir == b.dirs[1]; offline != (d.ErrorCode == kerr.KafkaStorageError.Code) || offline != (len(d.Topics) == 0) || offline != (d.TotalBytes < 0) {
			b.t.Errorf("log dir %+v, lost %v", d, lost)
		}
	}
}
