package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// exchange sends one frame and reads one answer into buf.
func exchange(b *testing.B, c *client, frame, buf []byte) {
	if _, err := c.Write(frame); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(c, buf[:4]); err != nil {
		b.Fatal(err)
	}
	for n := int(binary.BigEndian.Uint32(buf)); n > 0; {
		k, err := c.Read(buf[:min(n, len(buf))])
		if err != nil {
			b.Fatal(err)
		}
		n -= k
	}
}

func dialForBench(b *testing.B, f *fixture) *client {
	c := f.dial(b)
	c.SetDeadline(time.Time{})
	return c
}

// BenchmarkSmall is one small request and answer after another.
func BenchmarkSmall(b *testing.B) {
	answer := kmsg.NewPtrMetadataResponse()
	f := start(b, Options{Handler: handlerFunc(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{Body: answer}, nil
	})})
	c := dialForBench(b, f)
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, &kmsg.MetadataRequest{Version: 12}, 1)
	buf := make([]byte, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		exchange(b, c, frame, buf)
	}
}

// BenchmarkProduce1MB sends frames of 1 MB.
func BenchmarkProduce1MB(b *testing.B) {
	answer := kmsg.NewPtrProduceResponse()
	f := start(b, Options{Handler: handlerFunc(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{Body: answer}, nil
	})})
	c := dialForBench(b, f)
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.ProduceRequest{Version: 11, Topics: []kmsg.ProduceRequestTopic{
		{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, 1<<20)}}}}}, 1)
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		exchange(b, c, frame, buf)
	}
}

// BenchmarkFetch1MB sends a range of 1 MB of a file, by the kernel and by copying.
func BenchmarkFetch1MB(b *testing.B) {
	file, _ := segment(b, 4<<20)
	head := bytes.Repeat([]byte{1}, 80)
	for _, hidden := range []bool{false, true} {
		b.Run(fmt.Sprintf("sendfile=%v", !hidden), func(b *testing.B) {
			var released atomic.Int32
			source := &rangeOf{file, 1 << 20, 1 << 20, hidden, &released}
			f := start(b, Options{Handler: handlerFunc(func(context.Context, *protocol.Request) (protocol.Response, error) {
				return protocol.Response{Parts: []protocol.Part{{Bytes: head, Source: source}}}, nil
			})})
			c := dialForBench(b, f)
			frame := kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.FetchRequest{Version: 12}, 1)
			buf := make([]byte, 256<<10)
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for b.Loop() {
				exchange(b, c, frame, buf)
			}
		})
	}
}

// TestIdleConnectionsAreSmall bounds what a connection holds while it is silent.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const connections = 500
	f := start(t, Options{Handler: listing(nil)})
	before := liveBytes()
	for range connections {
		f.dial(t).works()
	}
	each := int64(liveBytes()-before) / connections
	t.Logf("%d bytes of heap and stack per connection, client's side included", each)
	if each > 16<<10 {
		t.Errorf("%d bytes per idle connection", each)
	}
}

// liveBytes is what heap and stacks hold after a collection.
func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
