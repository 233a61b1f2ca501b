package brokertest

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heldAddr is an address whose port nobody but this test takes; nothing listens there.
func heldAddr(t *testing.T) string {
	t.Helper()
	p, err := holdPort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.release)
	return p.addr
}

// setListeners sets the broker's dynamic listeners, PLAINTEXT always among them; without others the setting is removed. It
// returns the text of a refusal.
func setListeners(t *testing.T, b *Broker, others ...string) string {
	t.Helper()
	value := strings.Join(append([]string{"PLAINTEXT://" + b.Addr()}, others...), ",")
	return alterBroker(t, b, "listeners", value, len(others) == 0)
}

func alterBroker(t *testing.T, b *Broker, key, value string, remove bool) string {
	t.Helper()
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, &value
	if remove {
		c.Op, c.Value = kmsg.IncrementalAlterConfigOpDelete, nil
	}
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.Configs = kmsg.ConfigResourceTypeBroker, "1", append(r.Configs, c)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(deadline(t), newClient(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if a := resp.Resources[0]; a.ErrorCode != 0 {
		return *a.ErrorMessage
	}
	return ""
}

// plainConn is a connection by which a test asks and looks for its end.
type plainConn struct {
	net.Conn
	t *testing.T
}

func dialPlain(t *testing.T, addr string) plainConn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(patience))
	return plainConn{nc, t}
}

// brokers are those that a client of the connection's listener is told.
func (c plainConn) brokers() []kmsg.MetadataResponseBroker {
	c.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 4
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		c.t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		c.t.Fatal(err)
	}
	frame := make([]byte, int(size[2])<<8|int(size[3])) // it is far below 64 KiB
	if _, err := io.ReadFull(c, frame); err != nil {
		c.t.Fatal(err)
	}
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = 4
	if err := resp.ReadFrom(frame[4:]); err != nil {
		c.t.Fatal(err)
	}
	return resp.Brokers
}

// ended waits until the broker has closed the connection.
func (c plainConn) ended() {
	c.t.Helper()
	var timeout net.Error
	if b, err := io.ReadAll(c); len(b) > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("read %x, %v; want the end of the connection", b, err)
	}
}

func refused(addr string) bool {
	nc, err := net.Dial("tcp", addr)
	if err == nil {
		nc.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// TestListenersComeAndGo: dynamic listeners are bound and released while a producer goes on by another one.
func TestListenersComeAndGo(t *testing.T) {
	b := New(t, Topic("words", 1), Config("advertised.listeners", "PLAINTEXT://127.0.0.1:0"),
		Config("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT,THIRD:PLAINTEXT"))
	enough := make(chan struct{})
	var producing sync.WaitGroup
	sent := 0
	producing.Go(func() {
		client := newClient(t, b, kgo.RecordRetries(0))
		for {
			select {
			case <-enough:
				return
			default:
			}
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "words", Value: []byte("w")}).FirstErr(); err != nil {
				t.Errorf("the client of another listener: %v", err)
				return
			}
			sent++
		}
	})
	stop := sync.OnceFunc(func() {
		close(enough)
		producing.Wait()
	})
	defer stop()
	stays := dialPlain(t, b.Addr())
	first, second, third := heldAddr(t), heldAddr(t), heldAddr(t)
	for range 3 {
		if text := setListeners(t, b, "EXTRA://"+first); text != "" {
			t.Fatal(text)
		}
		c := dialPlain(t, first)
		if told := c.brokers(); len(told) != 0 {
			t.Errorf("clients of a listener that is not registered are told %v", told)
		}
		setListeners(t, b, "EXTRA://"+second) // the same name: nothing changes until the next start
		if c.brokers(); !refused(second) {
			t.Error("another port for a listener was bound")
		}
		setListeners(t, b)
		c.ended()
		if !refused(first) {
			t.Error("a listener that is gone still takes connections")
		}
	}
	stop()
	if told := stays.brokers(); len(told) != 1 || sent == 0 {
		t.Errorf("by the listener that stays: brokers %v, %d records", told, sent)
	}

	taken, err := net.Listen("tcp", second)
	if err != nil {
		t.Fatal(err)
	}
	if text := setListeners(t, b, "EXTRA://"+second, "THIRD://"+third); text != "" {
		t.Errorf("a port that is taken is no matter of the request: %s", text)
	}
	dialPlain(t, third).brokers()
	taken.Close()
	alterBroker(t, b, "message.max.bytes", "2000000", false) // any change tries again
	dialPlain(t, second).brokers()
	b.Restart()
	dialPlain(t, second).brokers()
	dialPlain(t, third).brokers()
	setListeners(t, b)
	if !refused(second) || !refused(third) {
		t.Error("listeners that are gone still take connections")
	}
}

// TestListenersAfterAStart: what was added while the broker ran is registered at the next start, wherever the settings put it.
func TestListenersAfterAStart(t *testing.T) {
	b := New(t, Config("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT,SAFE:SSL"))
	if text := setListeners(t, b, "SAFE://127.0.0.1:0"); !strings.Contains(text, "SAFE uses the security protocol SSL, which this broker does not serve") {
		t.Errorf("a secured listener: %q", text)
	}
	first, second, third := heldAddr(t), heldAddr(t), heldAddr(t)
	setListeners(t, b, "EXTRA://"+first)
	if told := dialPlain(t, first).brokers(); len(told) != 0 {
		t.Errorf("before the start: brokers %v", told)
	}
	if text := setListeners(t, b); !strings.Contains(text, "must be a subset of listeners") {
		t.Errorf("removal of a listener that is advertised: %q", text)
	}
	setListeners(t, b, "EXTRA://"+second)
	toldAt := func(addr string) {
		t.Helper()
		told := dialPlain(t, addr).brokers()
		if len(told) != 1 || net.JoinHostPort(told[0].Host, strconv.Itoa(int(told[0].Port))) != addr {
			t.Errorf("clients of %s are told %v", addr, told)
		}
	}
	b.Kill()
	b.Restart()
	toldAt(second)
	toldAt(b.Addr())
	if !refused(first) {
		t.Error("the former port is bound")
	}

	// The listener of the configuration stands in for one whose port is taken.
	taken, err := net.Listen("tcp", third)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	alterBroker(t, b, "listeners", "PLAINTEXT://"+third+",EXTRA://"+second, false)
	b.Restart()
	toldAt(b.Addr())
	toldAt(second)
	taken.Close()
	b.Restart()
	toldAt(third)
	if !refused(b.Addr()) {
		t.Error("the listener of the configuration is bound, although the settings put it elsewhere")
	}
}
