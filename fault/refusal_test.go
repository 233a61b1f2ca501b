package fault

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

const testCode = 87

// fill gives every field of a message a value, and every list one element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Version" && name != "UnknownTags" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("orders")
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(3)
	}
}

// codes counts the places for codes in a message that hold testCode.
func codes(v reflect.Value) (held int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return codes(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			held += codes(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "ErrorCode" {
				if v.Field(i).Int() == testCode {
					held++
				}
				continue
			}
			held += codes(v.Field(i))
		}
	}
	return held
}

// served calls fn for every API and version of it that a broker serves.
func served(t *testing.T, fn func(t *testing.T, req kmsg.Request)) {
	var keys []int16
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if _, err := protocol.NewVersions(key); err == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) < 50 {
		t.Fatalf("%d APIs", len(keys))
	}
	versions, err := protocol.NewVersions(keys...)
	if err != nil {
		t.Fatal(err)
	}
	for _, api := range versions.APIs() {
		for version := api.MinServed; version <= api.Max; version++ {
			req := kmsg.RequestForKey(api.Key)
			fill(reflect.ValueOf(req).Elem())
			req.SetVersion(version)
			fn(t, decoded(t, req))
		}
	}
}

// decoded is a request as a broker gets it: with the fields of its version alone.
func decoded(t *testing.T, req kmsg.Request) kmsg.Request {
	got := kmsg.RequestForKey(req.Key())
	got.SetVersion(req.GetVersion())
	if err := got.ReadFrom(req.AppendTo(nil)); err != nil {
		t.Fatalf("%s v%d: %v", protocol.KeyName(req.Key()), req.GetVersion(), err)
	}
	return got
}

// TestEveryAPIIsRefused: the answer to a request that is refused as a whole says so, in each version of each API.
func TestEveryAPIIsRefused(t *testing.T) {
	apis := 0
	served(t, func(t *testing.T, req kmsg.Request) {
		name := protocol.KeyName(req.Key())
		resp := refuse(req, &target{}, testCode)
		got := req.ResponseKind()
		if err := got.ReadFrom(resp.AppendTo(nil)); err != nil {
			t.Fatalf("%s v%d: %v", name, req.GetVersion(), err)
		}
		held := codes(reflect.ValueOf(got))
		// An answer to DescribeLogDirs has a code per directory alone up to version 2, and a request names no directory.
		if held == 0 && (name != "DescribeLogDirs" || got.GetVersion() > 2) {
			t.Errorf("%s v%d: no code is set: %+v", name, req.GetVersion(), got)
		}
		apis++
	})
	t.Logf("%d versions of APIs", apis)
}

// TestPartOfARequest: what is refused leaves the request, the rest stays, and the answer to both is one.
func TestPartOfARequest(t *testing.T) {
	commit := func(topics map[string][]int32) *kmsg.OffsetCommitRequest {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version = 8
		for _, name := range []string{"a", "b"} {
			topic := kmsg.NewOffsetCommitRequestTopic()
			topic.Topic = name
			for _, p := range topics[name] {
				part := kmsg.NewOffsetCommitRequestTopicPartition()
				part.Partition = p
				topic.Partitions = append(topic.Partitions, part)
			}
			if len(topic.Partitions) > 0 {
				req.Topics = append(req.Topics, topic)
			}
		}
		return req
	}
	one := int32(1)
	req := commit(map[string][]int32{"a": {0, 1}, "b": {1}})
	g := target{topic: "a", partition: &one}
	refused := refuse(req, &g, testCode)
	if !g.trim(req) || len(req.Topics) != 2 || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
		t.Fatalf("the rest is %+v", req)
	}
	answer := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, topic := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic = topic.Topic
		for _, p := range topic.Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition = p.Partition
			rt.Partitions = append(rt.Partitions, rp)
		}
		answer.Topics = append(answer.Topics, rt)
	}
	if joined, err := join(answer, refused); err != nil || joined != kmsg.Response(answer) {
		t.Fatal(joined, err)
	}
	encoded := struct{ *kmsg.OffsetCommitResponse }{req.ResponseKind().(*kmsg.OffsetCommitResponse)}
	encoded.Topics = answer.Topics[1:]
	if joined, err := join(encoded, refused); err != nil || len(joined.(*kmsg.OffsetCommitResponse).Topics) != 2 {
		t.Errorf("with an answer of another type: %+v, %v", joined, err)
	}
	if len(answer.Topics) != 2 || len(answer.Topics[0].Partitions) != 2 || answer.Topics[0].Partitions[1].ErrorCode != testCode ||
		answer.Topics[0].Partitions[1].Partition != 1 || len(answer.Topics[1].Partitions) != 1 || answer.Topics[1].Partitions[0].ErrorCode != 0 {
		t.Errorf("the answer is %+v", answer)
	}
	all := target{topic: "a"}
	if !all.trim(req) || len(req.Topics) != 1 || req.Topics[0].Topic != "b" {
		t.Errorf("without a topic: %+v", req)
	}
	last := target{topic: "b"}
	if last.trim(req) {
		t.Errorf("something is left: %+v", req)
	}
}

// TestPartsOfEveryAPI: where requests name topics, one of them can be refused, by name or by id, and nothing is left of a request
// that names no other.
func TestPartsOfEveryAPI(t *testing.T) {
	found := map[string]bool{}
	served(t, func(t *testing.T, req kmsg.Request) {
		name := protocol.KeyName(req.Key())
		g := target{topic: "orders", nameOf: func(id [16]byte) string {
			if id[0] == 3 {
				return "orders"
			}
			return ""
		}}
		topics, _ := names(req.Key())
		if named := g.namedIn(req); named != topics {
			t.Errorf("%s v%d: the topic is named: %t", name, req.GetVersion(), named)
			return
		}
		if !topics {
			return
		}
		found[name] = true
		other := target{topic: "other", nameOf: g.nameOf}
		if other.namedIn(req) {
			t.Errorf("%s v%d names a topic that it does not", name, req.GetVersion())
		}
		resp := refuse(req, &g, testCode)
		if codes(reflect.ValueOf(resp)) == 0 {
			t.Errorf("%s v%d: no code is set in %+v", name, req.GetVersion(), resp)
		}
		if singles(resp) && g.trim(req) {
			t.Errorf("%s v%d: something is left: %+v", name, req.GetVersion(), req)
		}
	})
	for _, name := range []string{"Produce", "Fetch", "ListOffsets", "OffsetCommit", "OffsetFetch", "CreateTopics", "DeleteTopics", "AddPartitionsToTxn", "WriteTxnMarkers"} {
		if !found[name] {
			t.Errorf("%s is not known to name topics", name)
		}
	}
}
