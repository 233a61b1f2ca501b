package group

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"minibroker/record"
)

// memLog is a partition of __consumer_offsets in memory.
type memLog struct {
	mu    sync.Mutex
	bytes []byte
	end   int64
	fail  error // what the next appends return
	max   int
}

func newMemLog() *memLog { return &memLog{max: 1 << 20} }

func (l *memLog) Append(batch record.Batch, _ AppendOptions) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return -1, l.fail
	}
	base := l.end
	batch.SetBaseOffset(base)
	l.bytes = append(l.bytes, batch...)
	l.end = batch.NextOffset()
	return base, nil
}

func (l *memLog) StartOffset() int64 { return 0 }
func (l *memLog) MaxBatchBytes() int { return l.max }

func (l *memLog) EndOffset() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Read returns one batch at a time.
func (l *memLog) Read(offset int64, buf []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := l.bytes; len(rest) > 0; {
		batch, tail, err := record.Next(rest)
		if err != nil {
			return nil, err
		}
		if batch.LastOffset() >= offset {
			return append(buf[:0], batch...), nil
		}
		rest = tail
	}
	return nil, nil
}

func (l *memLog) failWith(err error) {
	l.mu.Lock()
	l.fail = err
	l.mu.Unlock()
}

// records lists what was written from an offset on.
func (l *memLog) records(t testing.TB, from int64) []record.Record {
	t.Helper()
	l.mu.Lock()
	rest := l.bytes
	l.mu.Unlock()
	var all []record.Record
	for len(rest) > 0 {
		batch, tail, err := record.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = tail
		if batch.IsControl() {
			continue
		}
		err = batch.ForEach(1<<20, func(r *record.Record) error {
			if r.Offset >= from {
				all = append(all, *r)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// types lists the record types that were written from an offset on; a tombstone's
// is negative.
func (l *memLog) types(t testing.TB, from int64) []int16 {
	t.Helper()
	var all []int16
	for _, r := range l.records(t, from) {
		kind, err := recordType(r.Key)
		if err != nil {
			t.Fatal(err)
		}
		if r.Value == nil {
			kind = -kind
		}
		all = append(all, kind)
	}
	return all
}

var errDisk = errors.New("the disk is full")

// bench is a coordinator of one partition over a log in memory.
type bench struct {
	*Coordinator
	t   testing.TB
	log *memLog
	set Settings
	// topics are those that consumer groups see.
	topics topicSet
}

func testConsumerSettings(string) ConsumerSettings {
	return ConsumerSettings{SessionTimeoutMs: 45000, HeartbeatIntervalMs: 5000, AssignmentIntervalMs: 1000}
}

func testSettings() Settings {
	return Settings{
		MinSessionTimeoutMs: 1000, MaxSessionTimeoutMs: 1800000, MaxSize: 1000,
		OffsetMetadataMaxChars: 16, OffsetsRetentionMs: 60 * 60 * 1000,
		ConsumerMaxSize: 100, Assignors: []string{UniformAssignor, RangeAssignor}, RegexRefreshMs: 600000,
		Migration: MigrationPolicy{Upgrade: true, Downgrade: true},
	}
}

// newBench makes one; change sets are made before it is used.
func newBench(t testing.TB, change ...func(*Settings)) *bench {
	return benchOver(t, newMemLog(), change...)
}

func benchOver(t testing.TB, log *memLog, change ...func(*Settings)) *bench {
	b := &bench{t: t, log: log, set: testSettings()}
	for _, c := range change {
		c(&b.set)
	}
	b.Coordinator = New(Options{Settings: func() Settings { return b.set }, ConsumerSettings: testConsumerSettings, Topics: func() Topics { return b.topics }, Name: "GroupCoordinator id=1"})
	b.SetPartitionCount(1)
	b.Lead(0, log)
	t.Cleanup(b.Close)
	return b
}

// reload is what a restart makes of the log.
func (b *bench) reload(change ...func(*Settings)) *bench {
	b.t.Helper()
	b.Close()
	return benchOver(b.t, b.log, change...)
}

// ask is a request of a member: it has one protocol, metadata m and 10 seconds for
// everything.
func ask(groupID, memberID string, change ...func(*JoinRequest)) *JoinRequest {
	r := &JoinRequest{
		GroupID: groupID, MemberID: memberID, ClientID: "client", ClientHost: "/127.0.0.1",
		SessionTimeoutMs: 10000, RebalanceTimeoutMs: 10000, ProtocolType: "consumer",
		Protocols: []Protocol{{"range", []byte("m")}},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func needsID(r *JoinRequest) { r.NeedsID = true }

func static(instance string) func(*JoinRequest) {
	return func(r *JoinRequest) { r.InstanceID = &instance }
}

func protocols(names ...string) func(*JoinRequest) {
	return func(r *JoinRequest) {
		r.Protocols = nil
		for _, n := range names {
			r.Protocols = append(r.Protocols, Protocol{n, []byte("m-" + n)})
		}
	}
}

// joins begins to join, and returns where the answer comes.
func (b *bench) joins(r *JoinRequest) <-chan JoinResult {
	answer := make(chan JoinResult, 1)
	go func() {
		result, err := b.Join(context.Background(), r)
		if err != nil {
			b.t.Errorf("join: %v", err)
		}
		answer <- result
	}()
	return answer
}

// join joins and waits.
func (b *bench) join(r *JoinRequest) JoinResult {
	b.t.Helper()
	return <-b.joins(r)
}

// mustJoin joins and waits for success.
func (b *bench) mustJoin(r *JoinRequest) JoinResult {
	b.t.Helper()
	result := b.join(r)
	if result.Err != nil {
		b.t.Fatalf("join %s: %v", r.MemberID, result.Err)
	}
	return result
}

// syncs begins to sync, and returns where the answer comes. parts are member ids
// and their parts in turn.
func (b *bench) syncs(groupID string, generation int32, memberID string, parts ...string) <-chan SyncResult {
	r := &SyncRequest{GroupID: groupID, Generation: generation, MemberID: memberID}
	for i := 0; i < len(parts); i += 2 {
		r.Assignments = append(r.Assignments, Assignment{parts[i], []byte(parts[i+1])})
	}
	answer := make(chan SyncResult, 1)
	go func() {
		result, err := b.Sync(context.Background(), r)
		if err != nil {
			b.t.Errorf("sync: %v", err)
		}
		answer <- result
	}()
	return answer
}

func (b *bench) sync(groupID string, generation int32, memberID string, parts ...string) SyncResult {
	b.t.Helper()
	return <-b.syncs(groupID, generation, memberID, parts...)
}

func (b *bench) beat(groupID string, generation int32, memberID string) error {
	return b.Heartbeat(&HeartbeatRequest{GroupID: groupID, Generation: generation, MemberID: memberID})
}

func (b *bench) wantErr(err, want error) {
	b.t.Helper()
	if !errors.Is(err, want) {
		b.t.Fatalf("got %v, want %v", err, want)
	}
}

func (b *bench) wantState(groupID, want string) {
	b.t.Helper()
	d, err := b.Describe(groupID)
	if err != nil {
		b.t.Fatal(err)
	}
	if d.State != want {
		b.t.Fatalf("state is %s, want %s", d.State, want)
	}
}

// stable makes a group of one member and returns its id; the generation is 1.
func (b *bench) stable(groupID string, change ...func(*JoinRequest)) string {
	b.t.Helper()
	id := b.mustJoin(ask(groupID, "", change...)).MemberID
	if r := b.sync(groupID, 1, id, id, "all"); r.Err != nil || string(r.Assignment) != "all" {
		b.t.Fatalf("sync: %v, %q", r.Err, r.Assignment)
	}
	return id
}

// commit commits one offset.
func (b *bench) commit(groupID, memberID string, generation int32, topic string, offset int64) error {
	_, err := b.Commit(&CommitRequest{
		GroupID: groupID, Committer: Committer{MemberID: memberID, Generation: generation}, RetentionMs: -1,
		Partitions: []CommitPartition{{PartitionName: PartitionName{topic, 0}, Offset: offset, LeaderEpoch: -1}},
	})
	return err
}

// committed is the offset of a topic's partition 0.
func (b *bench) committed(groupID, topic string) int64 {
	b.t.Helper()
	got, err := b.Fetch(&FetchRequest{GroupID: groupID, MemberEpoch: -1}, []FetchPartition{{PartitionName: PartitionName{topic, 0}}})
	if err != nil {
		b.t.Fatal(err)
	}
	return got[0].Offset.Offset
}

// loadFile is a coordinator over a segment that Kafka wrote.
func loadFile(t testing.TB, name string, change ...func(*Settings)) *bench {
	t.Helper()
	b, err := os.ReadFile("testdata/kafka/" + name)
	if err != nil {
		t.Fatal(err)
	}
	log := newMemLog()
	log.bytes = b
	for rest := b; len(rest) > 0; {
		batch, tail, err := record.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		log.end, rest = batch.NextOffset(), tail
	}
	return benchOver(t, log, change...)
}
