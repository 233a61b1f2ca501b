package group

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeepsForeignGroups takes over a partition in which Kafka left a share and a
// streams group. They are listed, can be neither joined nor deleted, keep their
// offsets, and none of their records is touched.
func TestKeepsForeignGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := loadFile(t, "many-kinds.log")
		kinds := map[string]Kind{"gshare": Share, "gstreams": Streams}
		check := func(b *bench) {
			t.Helper()
			listed, err := b.List(nil, []string{"share", "streams"})
			if err != nil || !slices.Equal(listed, []Listed{{"gshare", "share", "Empty", Share}, {"gstreams", "streams", "Empty", Streams}}) {
				t.Fatalf("groups %v, %v", listed, err)
			}
		}
		check(b)
		before, end := bytes.Clone(b.log.bytes), b.log.end
		for id, kind := range kinds {
			b.wantErr(b.join(ask(id, "")).Err, ErrInconsistentProtocol)
			r := hello("m1")
			r.GroupID = id
			b.refused(r, ErrGroupNotFound, "Group "+id+" is not a consumer group.")
			_, err := b.Describe(id)
			b.wantErr(err, ErrGroupNotFound)
			b.wantErr(b.beat(id, 1, "m1"), ErrUnknownMember)
			b.wantErr(b.Delete([]string{id})[0], ErrInvalidRequest)
			_, err = b.DeleteOffsets(id, []PartitionName{{"t", 0}})
			if kind == Share != errors.Is(err, ErrGroupNotFound) {
				t.Errorf("delete offsets of %s: %v", id, err)
			}
			if err := b.commit(id, "m1", 3, "t", 1); err == nil {
				t.Errorf("%s: a member committed", id)
			}
			if errs, err := b.Leave(id, []Leaving{{MemberID: "m1"}}); err != nil || errs[0] != ErrUnknownMember {
				t.Errorf("leave %s: %v, %v", id, errs, err)
			}
		}
		if !bytes.Equal(b.log.bytes, before) {
			t.Error("something was written")
		}
		b.wantErr(b.commit("gshare", "", -1, "t", 7), ErrGroupNotFound)
		b.wantErr(b.commit("gstreams", "", -1, "t", 7), nil)
		time.Sleep(10 * 365 * 24 * time.Hour)
		if err := b.Expire(); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b.log.bytes, before) {
			t.Error("what Kafka wrote was changed")
		}
		b = b.reload()
		check(b)
		if got := b.committed("gstreams", "t"); got != 7 {
			t.Errorf("the streams group's offset is %d", got)
		}
		for _, r := range b.log.records(t, 0) {
			if kind, _ := recordType(r.Key); kind >= typeShareMember && kind != typeConsumerRegex && r.Offset >= end {
				t.Errorf("a record of type %d was written at %d", kind, r.Offset)
			}
		}
	})
}
