package protocol

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sameAsGeneral decodes body with memory that was used before and the general way, and compares.
func sameAsGeneral(t *testing.T, all *Versions, d *dataRequests, key, version int16, flexible bool, body []byte) (steady bool) {
	t.Helper()
	got := d.decode(key, version, flexible, body)
	if got == nil {
		return false
	}
	row := rowOf(key)
	want := kmsg.RequestForKey(key)
	want.SetVersion(version)
	if _, err := measure(body, all.find(key).shape, version, flexible); err != nil {
		t.Fatalf("%s v%d %x is refused (%v), and yet decoded", KeyName(row.Key), version, body, err)
	}
	if err := want.ReadFrom(body); err != nil {
		t.Fatalf("%s v%d %x cannot be decoded (%v), and yet was", KeyName(row.Key), version, body, err)
	}
	if reflect.TypeOf(got) != reflect.TypeOf(want) || got.GetVersion() != version || !bytes.Equal(got.AppendTo(nil), want.AppendTo(nil)) {
		t.Fatalf("%s v%d %x: decoded as\n%+v\nand not as\n%+v", KeyName(row.Key), version, body, got, want)
	}
	return true
}

// TestDataRequests: memory that was used for another request changes nothing, whatever the two hold.
func TestDataRequests(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var d dataRequests
	all, steady := everything(t), 0
	const rounds = 3000
	for range rounds {
		key := int16(rnd.IntN(2))
		row := rowOf(key)
		version := row.MinServed + int16(rnd.IntN(int(row.Max-row.MinServed)+1))
		req := filled(rnd, key, version, 1+rnd.IntN(4))
		if f, ok := req.(*kmsg.FetchRequest); ok && rnd.IntN(4) > 0 {
			f.ForgottenTopics, f.ClusterID = nil, nil
			f.ReplicaState = kmsg.NewFetchRequestReplicaState()
			for i := range f.Topics {
				for j := range f.Topics[i].Partitions {
					p := &f.Topics[i].Partitions[j]
					p.HighWatermark, p.ReplicaDirectoryID = kmsg.NewFetchRequestTopicPartition().HighWatermark, [16]byte{}
				}
			}
		}
		if p, ok := req.(*kmsg.ProduceRequest); ok && rnd.IntN(2) > 0 {
			p.TransactionID = nil
		}
		body := req.AppendTo(nil)
		if sameAsGeneral(t, all, &d, key, version, isFlexible(key, version), body) {
			steady++
		}
		if rnd.IntN(3) == 0 {
			d.forget()
		}
	}
	if steady < rounds/2 {
		t.Errorf("%d of %d ordinary requests were decoded into memory used before", steady, rounds)
	}
}

// TestDataRequestsAllocateNothing: the second request of a kind takes no memory.
func TestDataRequestsAllocateNothing(t *testing.T) {
	all := everything(t)
	for _, body := range []kmsg.Request{
		&kmsg.ProduceRequest{Version: 11, Topics: []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: make([]kmsg.ProduceRequestTopicPartition, 3)}}},
		&kmsg.FetchRequest{Version: 11, Topics: []kmsg.FetchRequestTopic{{Topic: "t", Partitions: make([]kmsg.FetchRequestTopicPartition, 3)}}},
		&kmsg.FetchRequest{Version: 17, ReplicaState: kmsg.NewFetchRequestReplicaState(), Topics: []kmsg.FetchRequestTopic{{Partitions: fetchPartitions(3)}}, Rack: "r"},
	} {
		var req Request
		frame := frameOf(body, 1, "id")
		n := testing.AllocsPerRun(100, func() {
			if err := all.Parse(frame, &req); err != nil {
				t.Fatal(err)
			}
			req.Finish()
		})
		if n != 0 {
			t.Errorf("%T: %v allocations", body, n)
		}
	}
}

func fetchPartitions(n int) []kmsg.FetchRequestTopicPartition {
	partitions := make([]kmsg.FetchRequestTopicPartition, n)
	for i := range partitions {
		partitions[i] = kmsg.NewFetchRequestTopicPartition()
	}
	return partitions
}

// FuzzDataRequests: what is decoded into memory used before is what the general way makes of it, or is left to that.
func FuzzDataRequests(f *testing.F) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for key := range int16(2) {
		row := rowOf(key)
		for version := row.MinServed; version <= row.Max; version++ {
			f.Add(key, version, filled(rnd, key, version, 2).AppendTo(nil), filled(rnd, key, version, 3).AppendTo(nil))
		}
	}
	all := everything(f)
	f.Fuzz(func(t *testing.T, key, version int16, before, body []byte) {
		if key < 0 || key > 1 {
			return
		}
		row := rowOf(key)
		if version < row.MinServed || version > row.Max {
			return
		}
		var d dataRequests
		d.decode(key, version, version >= row.flexible, before)
		sameAsGeneral(t, all, &d, key, version, version >= row.flexible, body)
	})
}
