package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// answering listens, reads one request of a ping and answers with the bytes; nil closes the connection instead.
func answering(t *testing.T, answer []byte, wait <-chan struct{}) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		want, _ := hex.DecodeString("00000019" + "00120000" + "70696e67" + "000f" + hex.EncodeToString([]byte("minibroker-ping")))
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("asked %x (%v), want %x", got, err, want)
		}
		if wait != nil {
			<-wait
		}
		conn.Write(answer) // the other side may be gone already
	}()
	return l.Addr().String()
}

func TestPing(t *testing.T) {
	good := []byte{0, 0, 0, 10, 'p', 'i', 'n', 'g', 0, 0, 0, 0, 0, 0}
	if err := ping(answering(t, good, nil), 10*time.Second); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		answer []byte
		want   string
	}{
		{nil, "no answer"},
		{good[:7], "no answer"},
		{[]byte("HTTP/1.1 400 Bad Request"), "no Kafka broker"},
		{[]byte{0, 0, 0, 10, 'p', 'i', 'n', 'g', 0, 35, 0, 0, 0, 0}, "error code 35"},
	} {
		if err := ping(answering(t, c.answer, nil), 10*time.Second); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.answer, err, c.want)
		}
	}
	wait := make(chan struct{})
	silent := answering(t, nil, wait)
	if err := ping(silent, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("a silent server: %v", err)
	}
	close(wait)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := ping(l.Addr().String(), time.Second); err == nil {
		t.Error("nobody answers and ping is content")
	}
}
