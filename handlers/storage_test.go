package handlers

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/internal/vfs"
)

// TestStorageErrors lets the disk fail under produce and fetch.
func TestStorageErrors(t *testing.T) {
	a := newDataAPI(t)
	var failing atomic.Pointer[vfs.Kind]
	a.fs = vfs.NewFaulty(vfs.OS(), func(op vfs.Op) error {
		if kind := failing.Load(); kind != nil && op.Kind == *kind {
			return errors.New("the disk is on fire")
		}
		return nil
	})
	id := a.topic("t", 2)
	a.mustProduce("t", 0, "x")
	a.mustProduce("t", 0, "y")
	write, read := vfs.OpWrite, vfs.OpRead

	failing.Store(&write)
	p := answered[*kmsg.ProduceResponse](a, 9, produceTo("t", id, 1, 1, records(t, "z"))).Topics[0].Partitions[0]
	if p.ErrorCode != codeKafkaStorageError || p.BaseOffset != -1 || p.LogStartOffset != -1 {
		t.Errorf("produce on a broken disk: %+v", p)
	}
	failing.Store(&read)
	request := fetchFrom("t", id, 0, 1)
	request.Topics[0].Partitions[0].PartitionMaxBytes = 1
	if got := a.fetched(12, request); got != "0:56@-1+0" {
		t.Errorf("fetch from a broken disk: %s", got)
	}
	failing.Store(nil)
	a.mustProduce("t", 1, "z")
	if got := a.fetched(12, request); got == "0:56@-1+0" {
		t.Errorf("fetch from a mended disk: %s", got)
	}
}
