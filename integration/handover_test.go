package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// roundsEnv says how often TestHandover goes there and back; make handover sets it to 3.
const roundsEnv = "MINIBROKER_HANDOVER_ROUNDS"

// handover hands one data directory back and forth between minibroker and Apache Kafka.
type handover struct {
	dirs  []string
	kill  bool // kill -9 at each hand-over instead of a clean stop
	turns int
	state []string // what the last one showed
}

// TestHandover starts minibroker and Kafka on one data directory, one after the other. Each shows exactly what the other
// left, writes on, and hands over.
func TestHandover(t *testing.T) {
	kafkaLibs(t)
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv(roundsEnv)); err == nil {
		rounds = n
	}
	for _, kill := range []bool{false, true} {
		name := map[bool]string{false: "clean stops", true: "kill -9"}[kill]
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			h := &handover{dirs: []string{filepath.Join(root, "a"), filepath.Join(root, "b")}, kill: kill}
			if kill {
				h.format(t, root)
			}
			if kill && rounds > 1 {
				h.kafka(t) // on what minibroker formatted
			}
			h.minibroker(t)
			for range rounds {
				h.kafka(t)
				h.minibroker(t)
			}
			h.dumpMetadata(t)
		})
	}
}

// format formats the directories with minibroker format.
func (h *handover) format(t *testing.T, root string) {
	t.Helper()
	r := formatRun{dirs: "a,b"}
	said, code := runFormat(t, r.arguments(t, root, 0))
	if code != 0 {
		t.Fatal(said)
	}
}

func (h *handover) minibroker(t *testing.T) {
	addr := freeAddr(t)
	data := h.dirs[0] + "," + h.dirs[1]
	// Snapshots so small that Kafka starts from one and a tail.
	p := startProcess(t, data, addr, []string{"metadata.log.max.record.bytes.between.snapshots=3000", "offsets.topic.num.partitions=2"})
	h.turn(t, "minibroker", addr)
	if h.kill {
		p.Kill()
		return
	}
	p.StopDirs(t, h.dirs)
}

func (h *handover) kafka(t *testing.T) {
	addr := freeAddr(t)
	p := startKafka(t, h.dirs, addr)
	h.turn(t, "Kafka", addr)
	if h.kill {
		p.Kill()
	} else {
		p.end(t)
		verifyDirs(t, h.dirs)
	}
	t.Logf("turn %d: %d lines of WARN or worse from Kafka", h.turns, len(alarms(p.Output())))
	for _, line := range alarms(p.Output()) {
		t.Errorf("turn %d: Kafka complains: %s", h.turns, line)
	}
}

// turn compares what a broker shows with what the last one showed, and writes on.
func (h *handover) turn(t *testing.T, who, addr string) {
	t.Helper()
	h.turns++
	when := fmt.Sprintf("turn %d, %s", h.turns, who)
	if h.turns > 1 {
		compareStates(t, when, h.state, brokerState(t, addr, "billing"))
	}
	h.write(t, addr)
	h.state = brokerState(t, addr, "billing")
	if len(h.state) < 40*h.turns {
		t.Fatalf("%s: only %d lines of state", when, len(h.state))
	}
}

// write makes topics, deletes one and takes its name again, produces with every codec, and commits offsets.
func (h *handover) write(t *testing.T, addr string) {
	t.Helper()
	cl := newClient(t, addr)
	create := func(name string, partitions int32, settings ...string) {
		if code, message := newTopic(t, cl, name, partitions, settings...); code != 0 {
			t.Fatalf("create %s: error %d, %s", name, code, message)
		}
	}
	if h.turns == 1 {
		create("events", 3, "retention.ms", "-1", "segment.bytes", "1048576")
		create("table", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.9")
		create("passing", 2)
		if !h.kill {
			h.nameVoters(t, cl)
		}
	} else {
		deleteTopic(t, cl, "passing")
		if code, message := newTopicSoon(t, cl, "passing"); code != 0 {
			t.Fatalf("create passing again: error %d, %s", code, message)
		}
	}
	create(fmt.Sprintf("made-in-turn-%d", h.turns), 2, "max.message.bytes", strconv.Itoa(100_000+h.turns))
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		h.produce(t, addr, codec)
	}
	commit(t, cl, "billing", "events", int64(h.turns))
}

// nameVoters raises kraft.version: from then on the metadata log names the voters, not the configuration.
func (h *handover) nameVoters(t *testing.T, cl *kgo.Client) {
	t.Helper()
	req, update := kmsg.NewPtrUpdateFeaturesRequest(), kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	update.Feature, update.MaxVersionLevel, update.UpgradeType = "kraft.version", 1, 1
	req.FeatureUpdates = append(req.FeatureUpdates, update)
	if resp := ask[*kmsg.UpdateFeaturesResponse](t, cl, req); resp.ErrorCode != 0 {
		t.Fatalf("raise kraft.version: error %d", resp.ErrorCode)
	}
}

func (h *handover) produce(t *testing.T, addr string, codec kgo.CompressionCodec) {
	t.Helper()
	cl := newClient(t, addr, kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var records []*kgo.Record
	for n := range 8 {
		text := fmt.Sprintf("turn %d codec %v record %d", h.turns, codec, n)
		records = append(records, &kgo.Record{Topic: "events", Partition: int32(n % 3), Value: []byte(text)},
			&kgo.Record{Topic: "table", Key: []byte(strconv.Itoa(n)), Value: []byte(text)})
	}
	records = append(records, &kgo.Record{Topic: "passing", Value: []byte("once")})
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// dumpMetadata lets Kafka's own decoder read every record of the metadata log and its snapshots.
func (h *handover) dumpMetadata(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dirs[0], "__cluster_metadata-0", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := filepath.Glob(filepath.Join(h.dirs[0], "__cluster_metadata-0", "*.checkpoint"))
	if err != nil || len(snapshots) < 2 {
		t.Errorf("snapshots %v, %v; want the first and later ones", snapshots, err)
	}
	checkMetadataDump(t, append(files, snapshots...))
}
