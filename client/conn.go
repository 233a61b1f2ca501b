package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ID is how the commands call themselves in requests.
const ID = "minibroker-cli"

// maxAnswer bounds one answer in bytes, as a broker bounds requests.
const maxAnswer = 100 << 20

// ErrNoBroker says that what answers is no Kafka broker.
var ErrNoBroker = errors.New("what answers there is no Kafka broker")

// Conn is a connection to one broker. It is for one goroutine.
type Conn struct {
	Addr string // HOST:PORT as it was dialled

	conn     net.Conn
	format   *kmsg.RequestFormatter
	last     int32 // correlation id
	versions map[int16]kmsg.ApiVersionsResponseApiKey
}

// Dial connects and asks which versions the broker serves. ErrNoBroker when something else answers.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{Addr: addr, conn: conn, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(ID))}
	if err := c.learnVersions(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// learnVersions asks in version 0, which every broker answers.
func (c *Conn) learnVersions(ctx context.Context) error {
	req := kmsg.NewPtrApiVersionsRequest()
	answer, err := c.roundTrip(ctx, req)
	if err != nil {
		return fmt.Errorf("ask %s for its versions: %w", c.Addr, err)
	}
	resp, ok := answer.(*kmsg.ApiVersionsResponse)
	if !ok || resp.ErrorCode != 0 {
		return fmt.Errorf("ask %s for its versions: %w", c.Addr, ErrNoBroker)
	}
	c.versions = make(map[int16]kmsg.ApiVersionsResponseApiKey, len(resp.ApiKeys))
	for _, k := range resp.ApiKeys {
		c.versions[k.ApiKey] = k
	}
	return nil
}

// Request sends a request in the newest version that both sides know, at most the given one (-1: any), and returns the answer, which
// has the type that belongs to the request.
func (c *Conn) Request(ctx context.Context, req kmsg.Request, most int16) (kmsg.Response, error) {
	served, ok := c.versions[req.Key()]
	version := min(req.MaxVersion(), served.MaxVersion)
	if most >= 0 {
		version = min(version, most)
	}
	if !ok || version < served.MinVersion {
		return nil, fmt.Errorf("%s does not serve %s in a version that is known here", c.Addr, kmsg.NameForKey(req.Key()))
	}
	req.SetVersion(version)
	answer, err := c.roundTrip(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s to %s: %w", kmsg.NameForKey(req.Key()), c.Addr, err)
	}
	return answer, nil
}

// roundTrip sends one request and reads its answer:
//
//	size int32 | correlation id int32 | tagged fields in flexible versions | answer
//
// The end of ctx ends the wait; the connection is of no use after that.
func (c *Conn) roundTrip(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) }) // a closed connection needs no deadline
	defer stop()
	c.last++
	if _, err := c.conn.Write(c.format.AppendRequest(nil, req, c.last)); err != nil {
		return nil, because(ctx, err)
	}
	var head [8]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return nil, because(ctx, err)
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:])))
	if size < 4 || size > maxAnswer || int32(binary.BigEndian.Uint32(head[4:])) != c.last {
		return nil, ErrNoBroker
	}
	body, err := io.ReadAll(io.LimitReader(c.conn, size-4)) // memory grows with what comes, not with what is announced
	if err != nil || int64(len(body)) < size-4 {
		return nil, because(ctx, errors.Join(err, io.ErrUnexpectedEOF))
	}
	answer := req.ResponseKind()
	answer.SetVersion(req.GetVersion())
	if answer.IsFlexible() && answer.Key() != int16(kmsg.ApiVersions) {
		if body, err = skipTags(body); err != nil {
			return nil, err
		}
	}
	return answer, answer.ReadFrom(body)
}

// because is the context's error when that ended the wait.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// skipTags takes the tagged fields off the front of a header.
func skipTags(b []byte) ([]byte, error) {
	next := func() uint64 {
		u, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return u
	}
	for n := next(); n > 0; n-- {
		next()
		size := next()
		if size > uint64(len(b)) {
			return nil, ErrNoBroker
		}
		b = b[size:]
	}
	if b == nil {
		return nil, ErrNoBroker
	}
	return b, nil
}
