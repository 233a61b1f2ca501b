package handlers

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/partition"
	"minibroker/protocol"
	"minibroker/record"
)

// oneBatchLog opens a log that holds one batch.
func oneBatchLog(t testing.TB, valueBytes int) (*logstore.Log, []byte) {
	t.Helper()
	log, err := logstore.OpenLog(logstore.LogOptions{
		FS: vfs.OS(), Dir: filepath.Join(t.TempDir(), "t-0"), Config: logstore.DefaultConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	b := record.NewBuilder(record.BuilderOptions{LeaderEpoch: -1})
	if err := b.Append(record.Record{Timestamp: 1, Value: make([]byte, valueBytes)}); err != nil {
		t.Fatal(err)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(batch, logstore.AppendOptions{Origin: logstore.Client}); err != nil {
		t.Fatal(err)
	}
	return log, batch
}

func readRange(t testing.TB, log *logstore.Log) *logstore.Range {
	t.Helper()
	info, err := log.Read(0, 1<<30, logstore.ReadOptions{UpperBound: 1})
	if err != nil || info.Records == nil {
		t.Fatalf("read %+v, error %v", info, err)
	}
	return info.Records
}

// wholeBody puts the pieces of a body together, as the server does.
func wholeBody(t testing.TB, parts []protocol.Part) []byte {
	t.Helper()
	var body []byte
	for _, p := range parts {
		body = append(body, p.Bytes...)
		if p.Source == nil {
			continue
		}
		records := make([]byte, p.Source.Len())
		if _, err := p.Source.ReadAt(records, 0); err != nil {
			t.Fatal(err)
		}
		body = append(body, records...)
	}
	return body
}

// fetchSample is one answer as the encoder gets it and as kmsg has it.
type fetchSample struct {
	call *fetchCall
	want kmsg.FetchResponse
	code int16
	id   int32
}

// sampleFetch makes a random answer.
func sampleFetch(t testing.TB, r *rand.Rand, version int16, log *logstore.Log, batch []byte) *fetchSample {
	s := &fetchSample{call: &fetchCall{}, code: int16(r.IntN(3)), id: r.Int32()}
	s.want = kmsg.NewFetchResponse()
	s.want.Version = version
	if version >= sessionInFetch {
		s.want.ErrorCode, s.want.SessionID = s.code, s.id
	}
	for topic := range r.IntN(4) {
		out := kmsg.NewFetchResponseTopic()
		want := fetchWant{}
		if version >= topicIDInFetch {
			out.TopicID[topic], want.id[topic] = 9, 9
		} else {
			out.Topic = string(bytes.Repeat([]byte{'a' + byte(topic)}, 1+r.IntN(200)))
			want.topic = out.Topic
		}
		for i := range 1 + r.IntN(4) {
			want.partition = int32(i)
			out.Partitions = append(out.Partitions, s.partition(t, r, want, log, batch))
		}
		s.want.Topics = append(s.want.Topics, out)
	}
	return s
}

// partition adds one partition with the records of the log, an error, or
// neither.
func (s *fetchSample) partition(t testing.TB, r *rand.Rand, want fetchWant, log *logstore.Log, batch []byte) kmsg.FetchResponseTopicPartition {
	c, version := s.call, s.want.Version
	e := fetchEntry{fetchWant: want, read: -1}
	out := kmsg.NewFetchResponseTopicPartition()
	out.Partition, out.HighWatermark, out.LastStableOffset, out.LogStartOffset = want.partition, -1, -1, -1
	out.PreferredReadReplica, out.RecordBatches = -1, []byte{}
	c.picked = append(c.picked, int32(len(c.entries)))
	if r.IntN(4) == 0 {
		e.code = codeUnknownTopicOrPartition
		out.ErrorCode, out.AbortedTransactions = e.code, []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		c.entries = append(c.entries, e)
		return out
	}
	result := partition.ReadResult{HighWatermark: r.Int64(), LastStableOffset: r.Int64(), LogStartOffset: r.Int64()}
	out.HighWatermark, out.LastStableOffset, out.LogStartOffset = result.HighWatermark, result.LastStableOffset, result.LogStartOffset
	if r.IntN(2) == 0 {
		result.Committed, out.AbortedTransactions = true, []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for range r.IntN(3) {
			aborted := logstore.AbortedTxn{ProducerID: r.Int64(), FirstOffset: r.Int64()}
			result.Aborted = append(result.Aborted, aborted)
			txn := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			txn.ProducerID, txn.FirstOffset = aborted.ProducerID, aborted.FirstOffset
			out.AbortedTransactions = append(out.AbortedTransactions, txn)
		}
	}
	switch r.IntN(4) {
	case 0:
		result.Records, out.RecordBatches = readRange(t, log), batch
	case 1:
		result.HasDiverging, result.Diverging = true, partition.EpochEnd{Epoch: r.Int32(), EndOffset: r.Int64()}
		if version >= flexibleFetch {
			out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = result.Diverging.Epoch, result.Diverging.EndOffset
		}
	case 2:
		e.code, e.leader, e.leaderEpoch = codeNotLeaderOrFollower, 1, r.Int32()
		out.ErrorCode = e.code
		if version >= leaderInFetch {
			out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = 1, e.leaderEpoch
			c.answer.endpoint, c.answer.node = &Endpoint{Host: "host.example", Port: 9092}, 1
		}
	}
	e.read = int32(len(c.results))
	c.results = append(c.results, result)
	c.entries = append(c.entries, e)
	return out
}

// TestFetchAnswerIsWhatKmsgEncodes holds the encoder against kmsg's, in every
// version, over random answers.
func TestFetchAnswerIsWhatKmsgEncodes(t *testing.T) {
	log, batch := oneBatchLog(t, 300)
	r := rand.New(rand.NewPCG(1, 2))
	for version := int16(oldestFetch); version <= newestFetch; version++ {
		for range 200 {
			s := sampleFetch(t, r, version, log, batch)
			w := &s.call.answer
			endpoint := w.endpoint
			w.begin(version, s.code, s.id)
			s.call.encode()
			if endpoint != nil {
				w.endpoint, w.node = endpoint, 1
				broker := kmsg.NewFetchResponseBroker()
				broker.NodeID, broker.Host, broker.Port = 1, endpoint.Host, endpoint.Port
				s.want.Brokers = append(s.want.Brokers, broker)
			}
			parts := w.end()
			got, want := wholeBody(t, parts), s.want.AppendTo(nil)
			for i := range parts {
				if parts[i].Source != nil {
					parts[i].Source.Release()
				}
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("version %d: encoded\n%x\nkmsg has\n%x\nof %+v", version, got, want, s.want)
			}
		}
	}
}

func BenchmarkFetchAnswer(b *testing.B) {
	log, _ := oneBatchLog(b, 1<<19)
	c := &fetchCall{
		entries: []fetchEntry{{fetchWant: fetchWant{id: [16]byte{1}}}},
		results: []partition.ReadResult{{Records: readRange(b, log)}},
		picked:  []int32{0},
	}
	b.ReportAllocs()
	for b.Loop() {
		c.answer.begin(newestFetch, codeNone, 1)
		c.encode()
		c.answer.end()
		c.answer.reset()
	}
	c.results[0].Records.Release()
}
