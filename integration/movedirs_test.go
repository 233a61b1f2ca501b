package integration

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// logDirOf asks where a partition is, and where its copy is that is on its way ("" for none).
func logDirOf(t *testing.T, c *Conn, topic string) (at, future string, lag int64) {
	t.Helper()
	resp, err := c.Request(kmsg.NewPtrDescribeLogDirsRequest(), 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
		for _, tp := range d.Topics {
			for _, p := range tp.Partitions {
				switch {
				case tp.Topic != topic || p.Partition != 0:
				case p.IsFuture:
					future, lag = d.Dir, p.OffsetLag
				default:
					at = d.Dir
				}
			}
		}
	}
	return at, future, lag
}

// move asks for a partition to go to another log dir and returns the error code.
func move(t *testing.T, c *Conn, topic, dir string) int16 {
	t.Helper()
	r := kmsg.NewPtrAlterReplicaLogDirsRequest()
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	tp := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
	tp.Topic, tp.Partitions = topic, []int32{0}
	d.Topics = append(d.Topics, tp)
	r.Dirs = append(r.Dirs, d)
	resp, err := c.Request(r, 2)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.AlterReplicaLogDirsResponse).Topics[0].Partitions[0].ErrorCode
}

// setBrokerConfig sets a dynamic setting of all brokers.
func setBrokerConfig(t *testing.T, c *Conn, key, value string) {
	t.Helper()
	changeBrokerConfig(t, c, key, kmsg.IncrementalAlterConfigOpSet, &value)
}

// changeBrokerConfig changes a dynamic setting of all brokers.
func changeBrokerConfig(t *testing.T, c *Conn, key string, op kmsg.IncrementalAlterConfigOp, value *string) {
	t.Helper()
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType = kmsg.ConfigResourceTypeBroker
	cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	cfg.Name, cfg.Op, cfg.Value = key, op, value
	res.Configs = append(res.Configs, cfg)
	r.Resources = append(r.Resources, res)
	resp, err := c.Request(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; got.ErrorCode != 0 {
		t.Fatalf("%s %s=%s: %d %s", op, key, text(value), got.ErrorCode, text(got.ErrorMessage))
	}
}

// moving is a broker on two log dirs with a partition that is moved between them.
type moving struct {
	*testing.T
	dirs    []string
	addr    string
	batches [][]byte
	*Process
	conn *Conn
}

const movingRate = "replica.alter.log.dirs.io.max.bytes.per.second"

// start starts the broker, again or for the first time.
func (m *moving) start() {
	m.Helper()
	m.Process = startArgs(m.T, m.dirs[0], m.addr, []string{"--listen", m.addr, "--override", "log.dirs=" + strings.Join(m.dirs, ","),
		"--override", "log.retention.ms=-1", "--override", "log.segment.delete.delay.ms=0", "--override", "log.initial.task.delay.ms=0"})
	var err error
	if m.conn, err = dial(m.addr); err != nil {
		m.Fatal(err)
	}
}

func (m *moving) stop() {
	m.Helper()
	m.conn.Close()
	m.StopDirs(m.T, m.dirs)
}

// fill produces on a connection of its own.
func (m *moving) fill() {
	c, err := dial(m.addr)
	if err != nil {
		m.Error(err)
		return
	}
	defer c.Close()
	for i := range 200 {
		if a, err := c.Produce("moving", 0, m.batches[i%len(m.batches)]); err != nil || a.ErrorCode != 0 {
			m.Errorf("produce: %v, error %d", err, a.ErrorCode)
		}
	}
}

// isIn fails unless the partition is in one directory and on its way to another ("" for none).
func (m *moving) isIn(when, from, to string) {
	m.Helper()
	if at, future, _ := logDirOf(m.T, m.conn, "moving"); at != from || future != to {
		m.Errorf("%s: in %s, on its way to %q; want %s and %q", when, at, future, from, to)
	}
}

// TestMoveBetweenLogDirs moves a partition to the other log dir while it is written to, slowly at first; kill -9 comes in
// the middle, and the move is done after the restart. A clean restart finds everything in the new place.
func TestMoveBetweenLogDirs(t *testing.T) {
	top := t.TempDir()
	m := &moving{T: t, addr: freeAddr(t), batches: exampleBatches(t), dirs: []string{filepath.Join(top, "a"), filepath.Join(top, "b")}}
	m.start()
	if err := m.conn.CreateTopic("moving", 1, nil); err != nil {
		t.Fatal(err)
	}
	m.fill()
	end, err := m.conn.ListOffset("moving", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	from, to := m.dirs[0], m.dirs[1]
	if at, _, _ := logDirOf(t, m.conn, "moving"); at != from {
		from, to = to, from
	}
	setBrokerConfig(t, m.conn, movingRate, "1")
	for dir, want := range map[string]int16{filepath.Join(top, "none"): 57, to: 0} {
		if code := move(t, m.conn, "moving", dir); code != want {
			t.Errorf("move to %s: error %d, expected %d", dir, code, want)
		}
	}
	m.isIn("slowly", from, to)
	m.Kill()
	m.conn.Close()
	m.start()
	m.isIn("after kill -9", from, to)
	var writing sync.WaitGroup
	writing.Go(m.fill)
	changeBrokerConfig(t, m.conn, movingRate, kmsg.IncrementalAlterConfigOpDelete, nil) // there is no limit by default
	if !await(patience, func() bool {
		at, future, _ := logDirOf(t, m.conn, "moving")
		return at == to && future == ""
	}) {
		t.Errorf("the move does not end:\n%s", m.Output())
	}
	writing.Wait()
	m.stop()
	m.start()
	m.isIn("after a restart", to, "")
	if got, err := m.conn.ListOffset("moving", 0, -1); err != nil || got != 2*end {
		t.Errorf("the partition ends at %d, expected %d (%v)", got, 2*end, err)
	}
	var left []string
	if !await(patience, func() bool {
		left, err = filepath.Glob(filepath.Join(top, "*", "moving-0*"))
		return err == nil && len(left) == 1
	}) {
		t.Errorf("left: %v, %v", left, err)
	}
	m.stop()
	if javaThere() {
		dumpLog(t, to)
	}
}
