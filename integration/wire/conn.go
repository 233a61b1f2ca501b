package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is one raw connection to the broker. Answers are read one at a time and in order.
type conn struct {
	net.Conn
	next int32
}

// header holds the parts of the request header that a script may change.
type header struct {
	clientID *string
	tags     []byte // the tag section of a flexible header
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// send writes one request and returns its correlation id.
func (c *conn) send(r kmsg.Request, h header) (int32, error) {
	c.next++
	b := []byte{0, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(r.Key()))
	b = binary.BigEndian.AppendUint16(b, uint16(r.GetVersion()))
	b = binary.BigEndian.AppendUint32(b, uint32(c.next))
	if h.clientID == nil {
		b = append(b, 0xff, 0xff)
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(len(*h.clientID)))
		b = append(b, *h.clientID...)
	}
	if r.IsFlexible() {
		b = append(b, h.tags...)
	}
	b = r.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	_, err := c.Write(b)
	return c.next, err
}

var (
	errSilent = errors.New("no answer")
	errClosed = errors.New("connection closed")
)

// receive reads one frame, without its size.
func (c *conn) receive(wait time.Duration) ([]byte, error) {
	c.SetReadDeadline(time.Now().Add(wait))
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return nil, errSilent
		}
		return nil, errClosed
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 200<<20 {
		return nil, fmt.Errorf("answer of %d bytes", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(c, frame); err != nil {
		return nil, errClosed
	}
	return frame, nil
}

// decode reads the answer to r; it also says when the bytes are not what a plain encoder would write.
func decode(r kmsg.Request, frame []byte, correlation int32) (kmsg.Response, string, error) {
	if len(frame) < 4 {
		return nil, "", fmt.Errorf("answer of %d bytes", len(frame))
	}
	note := ""
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlation {
		note = fmt.Sprintf("correlation id is %+d off", got-correlation)
	}
	body := frame[4:]
	if r.IsFlexible() && r.Key() != 18 {
		if len(body) == 0 || body[0] != 0 {
			return nil, note, errors.New("no empty tag section in the answer's header")
		}
		body = body[1:]
	}
	resp := r.ResponseKind()
	resp.SetVersion(r.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		return nil, note, fmt.Errorf("cannot decode: %v", err)
	}
	if again := resp.AppendTo(nil); len(again) != len(body) && note == "" {
		note = fmt.Sprintf("%+d bytes against a plain encoding", len(body)-len(again))
	}
	return resp, note, nil
}
