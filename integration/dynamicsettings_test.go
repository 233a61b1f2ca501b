package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// settingProbe is what a client sees of a dynamic setting.
type settingProbe struct {
	key, value string
	// seen reports whether the setting acts.
	seen func(s *settingsTest) bool
}

// settingsTest is a broker on two log dirs with a topic.
type settingsTest struct {
	*testing.T
	dirs []string
	addr string
	*Process
	conn *Conn
}

func (s *settingsTest) start() {
	s.Helper()
	s.Process = startArgs(s.T, s.dirs[0], s.addr, []string{"--listen", s.addr, "--override", "log.dirs=" + strings.Join(s.dirs, ","),
		"--override", "log.initial.task.delay.ms=0", "--override", "log.retention.ms=-1"})
	s.conn = s.dialled()
}

func (s *settingsTest) dialled() *Conn {
	s.Helper()
	c, err := dial(s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// produced writes one batch and returns its offset and the error code.
func (s *settingsTest) produced(stampMs int64, size int) (int64, int16) {
	s.Helper()
	b := record.NewBuilder(record.BuilderOptions{})
	if err := b.Append(record.Record{Timestamp: stampMs, Value: make([]byte, size)}); err != nil {
		s.Fatal(err)
	}
	batch, err := b.Build()
	if err != nil {
		s.Fatal(err)
	}
	a, err := s.conn.Produce("settings", 0, batch)
	if err != nil {
		s.Fatal(err)
	}
	return a.BaseOffset, a.ErrorCode
}

// stored is the batch at an offset as the log holds it.
func (s *settingsTest) stored(offset int64) record.Batch {
	s.Helper()
	r := kmsg.NewPtrFetchRequest()
	r.MaxBytes, r.SessionEpoch = 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "settings"
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes, p.FetchOffset = 1<<20, offset
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp, err := s.conn.Request(r, 12)
	if err != nil {
		s.Fatal(err)
	}
	return record.Batch(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches)
}

const longAgo = 1_700_000_000_000

// settingProbes are the dynamic settings of a broker that mean something on one node, each with what shows that it acts.
// The others are stored and shown.
func settingProbes() []settingProbe {
	code := func(stamp int64, size int, want int16) func(*settingsTest) bool {
		return func(s *settingsTest) bool { _, got := s.produced(stamp, size); return got == want }
	}
	batch := func(test func(record.Batch) bool) func(*settingsTest) bool {
		return func(s *settingsTest) bool {
			at, code := s.produced(longAgo, 500)
			return code == 0 && test(s.stored(at))
		}
	}
	return []settingProbe{
		{"message.max.bytes", "300", code(longAgo, 1000, 10)},
		{"log.message.timestamp.before.max.ms", "1000", code(longAgo, 10, 32)},
		{"log.message.timestamp.after.max.ms", "1000", code(1<<42, 10, 32)},
		{"log.message.timestamp.type", "LogAppendTime", batch(func(b record.Batch) bool { return b.MaxTimestamp() > longAgo })},
		{"compression.type", "gzip", batch(func(b record.Batch) bool { return b.Codec() == record.Gzip })},
		{"log.segment.bytes", "1048576", func(s *settingsTest) bool {
			for range 3 {
				s.produced(longAgo, 700_000)
			}
			return len(s.glob("settings-0/*.log")) > 1
		}},
		{"log.flush.interval.messages", "1", func(s *settingsTest) bool {
			s.produced(longAgo, 1)
			return s.described(kmsg.ConfigResourceTypeTopic, "settings", "flush.messages") == "1"
		}},
		{"log.segment.delete.delay.ms", "0", func(s *settingsTest) bool {
			if err := s.conn.CreateTopic("gone", 1, nil); err != nil {
				s.Fatal(err)
			}
			s.deleteTopic("gone")
			return await(patience, func() bool { return len(s.glob("gone-0*")) == 0 })
		}},
		{"max.connections.per.ip", "1", func(s *settingsTest) bool {
			_, err := s.dialled().Request(kmsg.NewPtrApiVersionsRequest(), 0)
			return err != nil
		}},
		{"max.connections.per.ip.overrides", "127.0.0.1:1", func(s *settingsTest) bool {
			_, err := s.dialled().Request(kmsg.NewPtrApiVersionsRequest(), 0)
			return err != nil
		}},
	}
}

// onlyShown are dynamic settings that change nothing here: they are stored, and shown also after a restart.
func onlyShown() map[string]string {
	return map[string]string{"num.io.threads": "9", "num.network.threads": "4", "background.threads": "11", "log.cleaner.threads": "2",
		"follower.replication.throttled.rate": "1000", "num.replica.fetchers": "2"}
}

// TestDynamicSettings sets each dynamic setting while the broker runs: it acts at once, still acts after a restart, and no
// longer when it is removed.
func TestDynamicSettings(t *testing.T) {
	top := t.TempDir()
	s := &settingsTest{T: t, addr: freeAddr(t), dirs: []string{filepath.Join(top, "a"), filepath.Join(top, "b")}}
	s.start()
	if err := s.conn.CreateTopic("settings", 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range settingProbes() {
		s.set("", p.key, p.value)
		if !p.seen(s) {
			t.Errorf("%s=%s does not act", p.key, p.value)
		}
		s.unset(p.key)
	}
	if _, code := s.produced(longAgo, 2000); code != 0 {
		t.Errorf("after the removal of all settings: error %d", code)
	}
	s.set("", "message.max.bytes", "300")
	for key, value := range onlyShown() {
		s.set("", key, value)
	}
	s.StopDirs(t, s.dirs)
	s.start()
	if _, code := s.produced(longAgo, 1000); code != 10 {
		t.Errorf("after a restart message.max.bytes does not act: error %d", code)
	}
	for key, value := range onlyShown() {
		if got := s.described(kmsg.ConfigResourceTypeBroker, "1", key); got != value {
			t.Errorf("after a restart %s is shown as %q", key, got)
		}
	}
	s.cordon()
	s.StopDirs(t, s.dirs)
}

// cordon takes log dirs out of use for new partitions: one, then both.
func (s *settingsTest) cordon() {
	s.Helper()
	s.set("1", "cordoned.log.dirs", s.dirs[0])
	for _, topic := range []string{"one", "two", "three"} {
		if err := s.conn.CreateTopic(topic, 1, nil); err != nil {
			s.Fatal(err)
		}
		if at, _, _ := logDirOf(s.T, s.conn, topic); at != s.dirs[1] {
			s.Errorf("%s is in %s, which is cordoned", topic, at)
		}
	}
	s.set("1", "cordoned.log.dirs", "*")
	const want = "error 38 Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their log directories cordoned."
	if err := s.conn.CreateTopic("four", 1, nil); err == nil || !strings.Contains(err.Error(), want) {
		s.Errorf("with all log dirs cordoned: %v", err)
	}
	if code := move(s.T, s.conn, "one", s.dirs[0]); code != 39 {
		s.Errorf("move to a cordoned log dir: error %d", code)
	}
}

// glob finds files in both log dirs.
func (s *settingsTest) glob(pattern string) []string {
	s.Helper()
	var all []string
	for _, dir := range s.dirs {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// described is a setting as it is described.
func (s *settingsTest) described(kind kmsg.ConfigResourceType, name, key string) string {
	s.Helper()
	r := kmsg.NewPtrDescribeConfigsRequest()
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName, res.ConfigNames = kind, name, []string{key}
	r.Resources = append(r.Resources, res)
	resp, err := s.conn.Request(r, 4)
	if err != nil {
		s.Fatal(err)
	}
	return text(resp.(*kmsg.DescribeConfigsResponse).Resources[0].Configs[0].Value)
}

func (s *settingsTest) deleteTopic(topic string) {
	s.Helper()
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.TimeoutMillis, r.TopicNames = 30000, []string{topic}
	resp, err := s.conn.Request(r, 5)
	if err != nil {
		s.Fatal(err)
	}
	if code := resp.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode; code != 0 {
		s.Fatalf("delete %s: error %d", topic, code)
	}
}

// set changes a setting of one broker, "" for all; unset removes one of all.
func (s *settingsTest) set(broker, key, value string) { s.alter(broker, key, &value) }
func (s *settingsTest) unset(key string)              { s.alter("", key, nil) }

func (s *settingsTest) alter(broker, key string, value *string) {
	s.Helper()
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeBroker, broker
	cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	cfg.Name, cfg.Value = key, value
	if value == nil {
		cfg.Op = kmsg.IncrementalAlterConfigOpDelete
	}
	res.Configs = append(res.Configs, cfg)
	r.Resources = append(r.Resources, res)
	resp, err := s.conn.Request(r, 1)
	if err != nil {
		s.Fatal(err)
	}
	if got := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; got.ErrorCode != 0 {
		s.Fatalf("alter %s: %d %s", key, got.ErrorCode, text(got.ErrorMessage))
	}
}
