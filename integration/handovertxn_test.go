package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
	"minibroker/txn"
)

// txnHandover hands a directory with transactions in every state from one broker to the other.
type txnHandover struct {
	t    *testing.T
	data string
	kill bool
	turn int
	all  []*handedTxn

	committed map[string][]string // values by topic
}

// handedTxn is a transactional id and how its transaction stands when the broker goes away.
type handedTxn struct {
	*transactor
	fate    string // committed, aborted, open, prepare commit, prepare abort
	topic   string
	written []string // in the transaction that is not complete
	offset  int64    // that its group has committed
	decided bool     // on disk, with the markers missing
}

// TestHandoverTransactions has minibroker, Apache Kafka and minibroker again take one directory over, with transactions of
// both versions committed, aborted, open, and decided with the markers missing. Each finishes what the one before it
// left: open ones go on and commit or abort, decided ones get their markers, and the committed records and offsets are right.
//
// After a kill -9 Kafka 4.4.0 can drop the markers that it owes (it writes that the transaction is complete, and the last
// stable offset stays), so that it is not given decided transactions then; minibroker is, and finishes them.
func TestHandoverTransactions(t *testing.T) {
	kafkaLibs(t)
	kills := []bool{false}
	whole := os.Getenv(roundsEnv) != ""
	if whole {
		kills = append(kills, true)
	}
	for _, kill := range kills {
		t.Run(map[bool]string{false: "clean stops", true: "kill -9"}[kill], func(t *testing.T) {
			h := &txnHandover{t: t, data: t.TempDir(), kill: kill, committed: map[string][]string{}}
			h.minibroker(!kill)
			h.kafka()
			if whole {
				h.minibroker(!kill)
				h.kafka()
			}
			h.minibroker(true)
			h.minibroker(true)
		})
	}
}

var handoverSettings = []string{"transaction.state.log.num.partitions=2", "offsets.topic.num.partitions=2"}

func (h *txnHandover) minibroker(decide bool) {
	p := startProcess(h.t, h.data, freeAddr(h.t), handoverSettings)
	h.take(p.Addr)
	if h.kill {
		p.Kill()
	} else {
		p.Stop(h.t)
	}
	if decide {
		h.decideAll()
	}
}

func (h *txnHandover) kafka() {
	p := startKafka(h.t, []string{h.data}, freeAddr(h.t), handoverSettings...)
	h.take(p.Addr)
	if h.kill {
		p.Kill()
	} else {
		p.end(h.t)
		verifyDirs(h.t, []string{h.data})
	}
	h.decideAll()
}

// take finishes what the last broker left, checks, and leaves new transactions.
func (h *txnHandover) take(addr string) {
	h.t.Helper()
	h.turn++
	if h.turn == 1 {
		for _, version := range []string{"1", "2"} {
			for _, fate := range []string{"committed", "aborted", "open", "prepare commit", "prepare abort"} {
				x := newTransactor(h.t, addr, strings.ReplaceAll(fate, " ", "-")+"-"+version, version == "2")
				one := &handedTxn{transactor: x, fate: fate, topic: "data-" + x.id}
				createTopic(h.t, addr, one.topic, 1, nil)
				h.all = append(h.all, one)
			}
		}
	}
	for _, x := range h.all {
		x.use(addr)
		if h.turn > 1 {
			h.finish(x)
		}
		h.check(addr, x)
		h.leave(x)
	}
	h.t.Logf("turn %d: %d transactional ids", h.turn, len(h.all))
}

// finish ends an open transaction, or sees that a decided one is ended.
func (h *txnHandover) finish(x *handedTxn) {
	h.t.Helper()
	commit := x.fate == "prepare commit" || x.fate == "open" && h.turn%2 == 0
	switch {
	case x.fate == "committed", x.fate == "aborted":
	case x.decided && commit:
		x.awaitState("CompleteCommit")
	case x.decided:
		x.awaitState("CompleteAbort")
	default:
		value := fmt.Sprintf("%s, turn %d, goes on", x.id, h.turn)
		x.write(place{x.topic, 0}, value)
		x.written = append(x.written, value)
		x.end(commit)
	}
	if commit {
		h.committed[x.topic] = append(h.committed[x.topic], x.written...)
		x.offset = int64(h.turn - 1)
	}
	x.written, x.decided = nil, false
}

// check compares the committed values and the committed offset of an id, and that nothing is left open.
func (h *txnHandover) check(addr string, x *handedTxn) {
	h.t.Helper()
	want := slices.Clone(h.committed[x.topic])
	slices.Sort(want)
	if got, _ := allCommitted(h.t, addr, x.topic, 1); !slices.Equal(got, want) {
		h.t.Errorf("turn %d: %s: committed %q, want %q", h.turn, x.id, got, want)
	}
	if h.turn == 1 {
		return
	}
	q := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = x.id
	qt := kmsg.NewOffsetFetchRequestGroupTopic()
	qt.Topic, qt.Partitions = x.topic, []int32{0}
	g.Topics = append(g.Topics, qt)
	q.Groups, q.RequireStable = append(q.Groups, g), true
	var offset int64
	x.must("fetch offset", func() int16 {
		a := answer[*kmsg.OffsetFetchResponse](x.transactor, q, 8).Groups[0]
		if a.ErrorCode != 0 {
			return a.ErrorCode
		}
		offset = a.Topics[0].Partitions[0].Offset
		return a.Topics[0].Partitions[0].ErrorCode
	})
	if max(offset, 0) != x.offset {
		h.t.Errorf("turn %d: %s: offset %d, want %d", h.turn, x.id, offset, x.offset)
	}
}

// leave makes a transaction and stops where its fate says.
func (h *txnHandover) leave(x *handedTxn) {
	h.t.Helper()
	x.begin()
	value := fmt.Sprintf("%s, turn %d", x.id, h.turn)
	x.write(place{x.topic, 0}, value)
	x.commitOffset(x.id, place{x.topic, 0}, int64(h.turn))
	x.written = []string{value}
	switch x.fate {
	case "committed":
		x.end(true)
		h.committed[x.topic] = append(h.committed[x.topic], value)
		x.offset, x.written = int64(h.turn), nil
	case "aborted":
		x.end(false)
		x.written = nil
	}
}

// decideAll writes the decisions of the transactions that are to be found decided. Brokers write markers right after the
// decision; this is the state of one that died between.
func (h *txnHandover) decideAll() {
	h.t.Helper()
	for _, x := range h.all {
		switch x.fate {
		case "prepare commit":
			h.decide(x, int8(txn.PrepareCommit))
		case "prepare abort":
			h.decide(x, int8(txn.PrepareAbort))
		}
	}
}

// decide appends a record to the log of __transaction_state, after the last one of the id, of a broker that is down.
func (h *txnHandover) decide(x *handedTxn, state int8) {
	h.t.Helper()
	dir := filepath.Join(h.data, fmt.Sprintf("__transaction_state-%d", txn.PartitionFor(x.id, 2)))
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		h.t.Fatalf("logs in %s: %v, %v", dir, logs, err)
	}
	slices.Sort(logs)
	name := logs[len(logs)-1]
	bytes, err := os.ReadFile(name)
	if err != nil {
		h.t.Fatal(err)
	}
	last := kmsg.NewTxnMetadataValue()
	var key []byte
	var end record.Batch
	for rest := bytes; len(rest) > 0; {
		batch, tail, err := record.Next(rest)
		if err != nil {
			h.t.Fatalf("%s: %v", name, err)
		}
		rest, end = tail, batch
		err = batch.ForEach(1<<20, func(r *record.Record) error {
			k := kmsg.NewTxnMetadataKey()
			if err := k.ReadFrom(r.Key); err != nil || k.TransactionalID != x.id || r.Value == nil {
				return err
			}
			key = slices.Clone(r.Key)
			last = kmsg.NewTxnMetadataValue()
			return last.ReadFrom(slices.Clone(r.Value))
		})
		if err != nil {
			h.t.Fatalf("%s: %v", name, err)
		}
	}
	if key == nil || txn.State(last.State) != txn.Ongoing {
		h.t.Fatalf("%s: the last record of %s is %+v", name, x.id, last)
	}
	last.State, last.LastUpdateTimestamp = kmsg.TransactionState(state), time.Now().UnixMilli()
	last.PreviousProducerID = last.ProducerID
	if x.bumps {
		last.ProducerEpoch++
	}
	b := record.NewBuilder(record.BuilderOptions{})
	if err := b.Append(record.Record{Timestamp: last.LastUpdateTimestamp, Key: key, Value: last.AppendTo(nil)}); err != nil {
		h.t.Fatal(err)
	}
	batch, err := b.Build()
	if err != nil {
		h.t.Fatal(err)
	}
	batch.SetBaseOffset(end.NextOffset())
	batch.SetLeaderEpoch(end.LeaderEpoch())
	if err := os.WriteFile(name, append(bytes, batch...), 0o644); err != nil {
		h.t.Fatal(err)
	}
	x.decided = true
}
