package observe

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestClientTelemetry: pushes of clients' metrics are counted, accepted or not. Their APIs are served without being listed, so that
// the requests are written by hand.
func TestClientTelemetry(t *testing.T) {
	o := open(t)
	conn, err := net.Dial("tcp", o.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	ask := func(req kmsg.Request) kmsg.Response {
		t.Helper()
		if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
			t.Fatal(err)
		}
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(conn, frame); err != nil {
			t.Fatal(err)
		}
		resp := req.ResponseKind()
		if err := resp.ReadFrom(frame[5:]); err != nil { // behind the correlation id and no tags
			t.Fatal(err)
		}
		return resp
	}
	assigned := ask(kmsg.NewPtrGetTelemetrySubscriptionsRequest()).(*kmsg.GetTelemetrySubscriptionsResponse)
	push := kmsg.NewPtrPushTelemetryRequest()
	push.ClientInstanceID, push.SubscriptionID, push.Metrics = assigned.ClientInstanceID, assigned.SubscriptionID, make([]byte, 40)
	for _, want := range []int16{0, 89} { // accepted, then throttled
		if resp := ask(push).(*kmsg.PushTelemetryResponse); resp.ErrorCode != want {
			t.Errorf("push: %d, want %d", resp.ErrorCode, want)
		}
	}
	s := o.scrape(t)
	s.is(t, 1, "minibroker_telemetry_clients")
	s.is(t, 1, "minibroker_telemetry_pushes_total")
	s.is(t, 40, "minibroker_telemetry_bytes_total")
	s.is(t, 1, "minibroker_telemetry_refused_total")
}
