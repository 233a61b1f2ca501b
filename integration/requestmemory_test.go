package integration

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestQueuedMaxRequestBytes: while one client's request that has not come in whole takes all memory that requests may have, another is
// not heard; it is when that one has gone. So it went on Apache Kafka 4.4.0.
func TestQueuedMaxRequestBytes(t *testing.T) {
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, []string{"socket.request.max.bytes=1000000", "queued.max.request.bytes=1000000"})
	var clients [2]net.Conn
	for i := range clients {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		clients[i] = nc
	}
	holder, other := clients[0], clients[1]
	answer := func(within time.Duration) error {
		var size [4]byte
		other.SetReadDeadline(time.Now().Add(within))
		if _, err := io.ReadFull(other, size[:]); err != nil {
			return err
		}
		_, err := io.ReadFull(other, make([]byte, binary.BigEndian.Uint32(size[:])))
		return err
	}
	if _, err := holder.Write(binary.BigEndian.AppendUint32(nil, 1000000)); err != nil {
		t.Fatal(err)
	}
	if !await(patience, func() bool { // until the broker has seen the holder
		if _, err := other.Write(kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.ApiVersionsRequest{}, 1)); err != nil {
			t.Fatal(err)
		}
		return answer(500*time.Millisecond) != nil
	}) {
		t.Error("requests have memory without end")
	}
	holder.Close()
	if err := answer(patience); err != nil {
		t.Errorf("no answer when memory was free again: %v\n%s", err, p.Output())
	}
	p.Stop(t)
}
