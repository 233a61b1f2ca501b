package metadata

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// node opens the same metadata directory again and again.
type node struct {
	t     testing.TB
	fs    vfs.FS
	dir   string
	clean int64 // broker epoch of the last clean stop, -1 after a crash
	*Store
	adjust func(*Options)
}

func newNode(t testing.TB, fsys vfs.FS, dir string) *node {
	return &node{t: t, fs: fsys, dir: dir, clean: -1}
}

func (n *node) options() Options {
	o := Options{
		FS: n.fs, Dir: n.dir, NodeID: 1, ClusterID: goldenCluster, DirectoryIDs: []logstore.UUID{{15: 0xdd}}, CleanBrokerEpoch: n.clean, MinISR: "1",
		Endpoints:           func(*Image) []Endpoint { return []Endpoint{{Name: "PLAINTEXT", Host: "127.0.0.1", Port: 9092}} },
		ControllerEndpoints: []Endpoint{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 9093}},
	}
	if n.adjust != nil {
		n.adjust(&o)
	}
	return o
}

func (n *node) start() *node {
	n.t.Helper()
	s, err := Open(n.options())
	if err != nil {
		n.t.Fatal(err)
	}
	n.Store = s
	n.t.Cleanup(func() { s.Abort() })
	return n
}

func (n *node) stop() {
	n.t.Helper()
	n.clean = n.BrokerEpoch()
	if err := n.Close(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) kill() {
	n.t.Helper()
	n.clean = -1
	if err := n.Abort(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) create(name string, partitions int, configs ...string) *Topic {
	n.t.Helper()
	topic := NewTopic{Name: name, Partitions: partitions, Configs: map[string]string{}}
	for i := 0; i+1 < len(configs); i += 2 {
		topic.Configs[configs[i]] = configs[i+1]
	}
	created, err := n.CreateTopics([]NewTopic{topic})
	if err != nil {
		n.t.Fatal(err)
	}
	return created[0]
}

// dump describes the log from an offset on: one line for each batch.
func (n *node) dump(from int64) []string {
	n.t.Helper()
	return dumpLog(n.t, n.log, from)
}

func TestStartsAndStopsWriteWhatKafkaWrites(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	want := []string{
		"0 e1 LeaderChange",
		"1 e1 BeginTransaction FeatureLevel FeatureLevel FeatureLevel FeatureLevel FeatureLevel FeatureLevel Config EndTransaction",
		"10 e1 RegisterController",
		"11 e1 RegisterBroker(epoch 11 fenced)",
		"12 e1 RegistrationChange.3(epoch 11 cordoned [])",
		"13 e1 RegistrationChange.0(epoch 11 fenced -1)",
	}
	sameLines(t, n.dump(0), want)
	if n.BrokerEpoch() != 11 || n.Image().LastOffset != 13 {
		t.Fatalf("epoch %d, last offset %d", n.BrokerEpoch(), n.Image().LastOffset)
	}
	n.stop()
	sameLines(t, n.reread(14), []string{"14 e1 RegistrationChange.0(epoch 11 fenced 1)"})

	n.start()
	sameLines(t, n.dump(15), []string{
		"15 e2 LeaderChange", "16 e2 RegisterController", "17 e2 RegisterBroker(epoch 17 fenced)",
		"18 e2 RegistrationChange.3(epoch 17 cordoned [])", "19 e2 RegistrationChange.0(epoch 17 fenced -1)",
	})
	n.create("t", 2)
	sameLines(t, n.dump(20), []string{"20 e2 Topic(t) Partition(0 leader 1) Partition(1 leader 1)"})
	n.stop()
	sameLines(t, n.reread(23), []string{
		"23 e2 RegistrationChange.1(epoch 17 shutdown 1) Change(0 isr [] leader -1 elr [1] last [1]) Change(1 isr [] leader -1 elr [1] last [1])",
		"26 e2 RegistrationChange.0(epoch 17 fenced 1)",
	})
	n.start()
	sameLines(t, n.dump(27), []string{
		"27 e3 LeaderChange", "28 e3 RegisterController", "29 e3 RegisterBroker(epoch 29 fenced)",
		"30 e3 RegistrationChange.3(epoch 29 cordoned [])",
		"31 e3 RegistrationChange.0(epoch 29 fenced -1) Change(0 isr [1] leader 1 elr [] last []) Change(1 isr [1] leader 1 elr [] last [])",
	})
	n.wantPartition("t", 1, 2, 2, 0)
	n.kill()
	n.start()
	sameLines(t, n.dump(34), []string{
		"34 e4 LeaderChange", "35 e4 RegisterController",
		"36 e4 Change(0 isr [] leader -1 elr [1] last [1]) Change(1 isr [] leader -1 elr [1] last [1]) RegistrationChange.0(epoch 29 fenced 1)",
		"39 e4 Change(0 elr []) Change(1 elr []) RegisterBroker(epoch 39 fenced)",
		"42 e4 RegistrationChange.3(epoch 39 cordoned [])",
		"43 e4 RegistrationChange.0(epoch 39 fenced -1) Change(0 isr [1] leader 1 recovery 1 last []) Change(1 isr [1] leader 1 recovery 1 last [])",
	})
	n.wantPartition("t", 1, 4, 5, 1)
	n.stop()
}

// TestEachStopWithAnOldEpochIsUnclean: the epoch in .kafka_cleanshutdown must
// be that of the registration.
func TestEachStopWithAnOldEpochIsUnclean(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	n.create("t", 1)
	n.stop()
	n.clean-- // another registration's
	n.start()
	n.wantPartition("t", 1, 2, 3, 1)
}

func (n *node) wantPartition(topic string, leader, leaderEpoch, partitionEpoch int32, recovery int8) {
	n.t.Helper()
	tt, ok := n.Image().Topic(topic)
	if !ok {
		n.t.Fatalf("no topic %s", topic)
	}
	for _, p := range tt.Partitions {
		if p.Leader != leader || p.LeaderEpoch != leaderEpoch || p.PartitionEpoch != partitionEpoch || p.RecoveryState != recovery {
			n.t.Fatalf("%s-%d: %+v", topic, p.ID, p)
		}
	}
}

func TestTheFirstLogIsThatOfKafkaExceptForNoOps(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	n.stop()
	ours := n.reread(0)
	theirs := []string{}
	for _, line := range dumpGolden(t, "04-first-start-clean-stop") {
		if !strings.Contains(line, "NoOp") {
			theirs = append(theirs, line)
		}
	}
	strip := func(lines []string) (out []string) {
		for _, l := range lines {
			_, l, _ = strings.Cut(l, " ")
			out = append(out, strings.NewReplacer("epoch 19", "epoch E", "epoch 11", "epoch E").Replace(l))
		}
		return out
	}
	sameLines(t, strip(ours), strip(theirs))
}

func TestChangesAreThereAgainAfterARestart(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	t1 := n.create("t1", 2, "segment.ms", "60000", "cleanup.policy", "compact")
	t2 := n.create("t2", 1, "min.insync.replicas", "1")
	if err := n.CreatePartitions("t2", 3); err != nil {
		t.Fatal(err)
	}
	value := "1000"
	if err := n.AlterConfigs([]ConfigChange{
		{ResourceBroker, "", "log.retention.ms", &value}, {ResourceTopic, "t1", "segment.ms", nil}, {ResourceGroup, "g", "consumer.session.timeout.ms", &value},
	}); err != nil {
		t.Fatal(err)
	}
	first, count, err := n.AllocateProducerIDs()
	if err != nil || first != 0 || count != 1000 {
		t.Fatal(first, count, err)
	}
	n.create("gone", 1, "retention.ms", "1")
	gone, _ := n.Image().Topic("gone")
	if err := n.DeleteTopics([]logstore.UUID{gone.ID}); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		i := n.Image()
		if got := fmt.Sprint(i.Config(ResourceTopic, "t1"), i.Config(ResourceBroker, ""), i.Config(ResourceTopic, "gone"), i.Config(ResourceGroup, "g")); got !=
			"map[cleanup.policy:compact] map[log.retention.ms:1000 min.insync.replicas:1] map[] map[consumer.session.timeout.ms:1000]" {
			t.Fatal(got)
		}
		a, _ := i.Topic("t1")
		b, _ := i.TopicByID(t2.ID)
		if len(i.Topics()) != 2 || a.ID != t1.ID || len(a.Partitions) != 2 || b.Name != "t2" || len(b.Partitions) != 3 || i.NextProducerID != 1000 {
			t.Fatalf("%+v %+v %d", a, b, i.NextProducerID)
		}
	}
	check()
	n.kill()
	n.start()
	check()
	n.stop()
	n.start()
	check()
	if first, _, err := n.AllocateProducerIDs(); err != nil || first != 1000 {
		t.Fatal(first, err)
	}
}

func TestChangesThatBreakTheStateAreRefused(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	topic := n.create("t", 1)
	end := n.log.EndOffset()
	value := "1"
	for what, tc := range map[string]struct {
		do   func() error
		want error
	}{
		"exists": {func() error { _, err := n.CreateTopics([]NewTopic{{Name: "t", Partitions: 1}}); return err }, ErrTopicExists},
		"twice": {func() error {
			_, err := n.CreateTopics([]NewTopic{{Name: "u", Partitions: 1}, {Name: "u", Partitions: 1}})
			return err
		}, ErrTopicExists},
		"id": {func() error {
			_, err := n.CreateTopics([]NewTopic{{Name: "u", ID: topic.ID, Partitions: 1}})
			return err
		}, ErrMalformed},
		"none": {func() error { _, err := n.CreateTopics([]NewTopic{{Name: "u"}}); return err }, ErrInvalidChange},
		"huge": {func() error { _, err := n.CreateTopics([]NewTopic{{Name: "u", Partitions: 1 << 30}}); return err }, ErrTooManyRecords},
		"away": {func() error {
			_, err := n.CreateTopics([]NewTopic{{Name: "u", Assignments: [][]int32{{7}}}})
			return err
		}, ErrInvalidChange},
		"fewer":  {func() error { return n.CreatePartitions("t", 1) }, ErrInvalidChange},
		"which":  {func() error { return n.CreatePartitions("u", 2) }, ErrUnknownTopic},
		"delete": {func() error { return n.DeleteTopics([]logstore.UUID{{1}}) }, ErrUnknownTopic},
		"again":  {func() error { return n.DeleteTopics([]logstore.UUID{topic.ID, topic.ID}) }, ErrUnknownTopic},
		"alter":  {func() error { return n.AlterConfigs([]ConfigChange{{ResourceTopic, "u", "k", &value}}) }, ErrUnknownTopic},
		"level":  {func() error { return n.Append([]Record{&FeatureLevelRecord{Name: "metadata.version", Level: 34}}) }, ErrUnsupported},
	} {
		if err := tc.do(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", what, err, tc.want)
		}
	}
	if n.log.EndOffset() != end || len(n.Image().Topics()) != 1 {
		t.Error("a refused change left something behind")
	}
	n.stop()
	if _, err := n.CreateTopics([]NewTopic{{Name: "u", Partitions: 1}}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnChangeSeesEachChangeBeforeItIsAnswered(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName)
	var seen []string
	fail := errors.New("no space for partitions")
	n.adjust = func(o *Options) {
		o.OnChange = func(old, image *Image) error {
			if n.Image() != image {
				t.Error("the image is not visible yet")
			}
			for _, c := range image.TopicChanges(old) {
				switch {
				case c.Old == nil:
					seen = append(seen, "+"+c.New.Name)
				case c.New == nil:
					seen = append(seen, "-"+c.Old.Name)
				default:
					seen = append(seen, fmt.Sprintf("%s %d->%d", c.New.Name, len(c.Old.Partitions), len(c.New.Partitions)))
				}
			}
			for _, r := range image.ConfigChanges(old) {
				seen = append(seen, fmt.Sprint(r.Kind, r.Name))
			}
			if _, bad := image.Topic("bad"); bad {
				return fail
			}
			return nil
		}
	}
	n.start()
	id := n.create("a", 1).ID
	if err := n.CreatePartitions("a", 2); err != nil {
		t.Fatal(err)
	}
	value := "v"
	if err := n.AlterConfigs([]ConfigChange{{ResourceTopic, "a", "k", &value}}); err != nil {
		t.Fatal(err)
	}
	if err := n.DeleteTopics([]logstore.UUID{id}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, ", "); got != "+a, a 1->2, 2a, -a, 2a" {
		t.Error(got)
	}
	if _, err := n.CreateTopics([]NewTopic{{Name: "bad", Partitions: 1}}); !errors.Is(err, fail) {
		t.Error(err)
	}
}

func TestFilesOfADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), DirName)
	n := newNode(t, vfs.OS(), dir).start()
	n.stop()
	n.start()
	n.stop()
	for name, want := range map[string]string{
		"quorum-state":            `{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`,
		"leader-epoch-checkpoint": "0\n2\n1 0\n2 15\n",
		"partition.metadata":      "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "00000000000000000000-0000000000.checkpoint"))
	if err != nil || info.Mode().Perm() != 0o400 || info.Size() != 411 {
		t.Errorf("checkpoint %v %v", info, err)
	}
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "00000000000000000000-0000000000.checkpoint 00000000000000000000.index 00000000000000000000.log 00000000000000000000.timeindex "+
		"00000000000000000015.snapshot 00000000000000000021.snapshot leader-epoch-checkpoint partition.metadata quorum-state" {
		t.Error(got)
	}
}

// TestSettled: what OnChange is still following is in Image and not in Settled, and Settle waits for it.
func TestSettled(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName)
	following, goOn := make(chan struct{}), make(chan struct{})
	followed := false
	n.adjust = func(o *Options) {
		o.OnChange = func(_, image *Image) error {
			if _, there := image.Topic("a"); there && !followed {
				close(following)
				<-goOn
				followed = true
			}
			return nil
		}
	}
	n.start()
	created := make(chan error, 1)
	go func() {
		_, err := n.CreateTopics([]NewTopic{{Name: "a", Partitions: 1}})
		created <- err
	}()
	<-following
	if _, there := n.Image().Topic("a"); !there {
		t.Error("the topic is not in the image that OnChange follows")
	}
	if _, there := n.Settled().Topic("a"); there {
		t.Error("the topic is settled before OnChange has followed it")
	}
	if _, err := n.CreateTopics([]NewTopic{{Name: "a", Partitions: 1}}); !errors.Is(err, ErrTopicExists) {
		t.Errorf("a second creation: %v", err)
	}
	close(goOn)
	if err := n.Settle(); err != nil {
		t.Error(err)
	}
	if _, there := n.Settled().Topic("a"); !there || !followed {
		t.Errorf("after Settle: followed %v, in the settled image %v", followed, there)
	}
	if err := <-created; err != nil {
		t.Error(err)
	}
	n.stop()
	n.start()
	if _, there := n.Settled().Topic("a"); !there {
		t.Error("the topic is not settled after a start")
	}
}
