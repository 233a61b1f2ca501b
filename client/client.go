package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client talks to a cluster, one request after another. It is for one goroutine.
type Client struct {
	bootstrap string
	conns     map[string]*Conn
}

// New makes a client that finds the cluster at HOST:PORT. Nothing is dialled yet.
func New(bootstrap string) *Client {
	return &Client{bootstrap: bootstrap, conns: map[string]*Conn{}}
}

// Close closes all connections.
func (c *Client) Close() {
	for _, conn := range c.conns {
		_ = conn.Close() // nothing is under way
	}
}

// conn is the connection to an address.
func (c *Client) conn(ctx context.Context, addr string) (*Conn, error) {
	if conn, ok := c.conns[addr]; ok {
		return conn, nil
	}
	conn, err := Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	c.conns[addr] = conn
	return conn, nil
}

// ask sends a request to an address, "" for the bootstrap address. A connection that failed is not used again.
func (c *Client) ask(ctx context.Context, addr string, req kmsg.Request, most int16) (kmsg.Response, error) {
	if addr == "" {
		addr = c.bootstrap
	}
	conn, err := c.conn(ctx, addr)
	if err != nil {
		return nil, err
	}
	answer, err := conn.Request(ctx, req, most)
	if err != nil {
		delete(c.conns, addr)
		err = errors.Join(err, conn.Close())
	}
	return answer, err
}

// Metadata asks what there is: of all topics when none is named. create lets the broker create missing ones.
func (c *Client) Metadata(ctx context.Context, create bool, topics ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = create
	for i := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &topics[i]
		req.Topics = append(req.Topics, t)
	}
	return asked[*kmsg.MetadataResponse](c.ask(ctx, "", req, -1))
}

// asked gives an answer its type.
func asked[R kmsg.Response](answer kmsg.Response, err error) (R, error) {
	resp, ok := answer.(R)
	if err == nil && !ok {
		err = ErrNoBroker
	}
	return resp, err
}

// Failed is the error that an answer carries, with the broker's own words where it has some; nil for code 0.
func Failed(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err != nil && message != nil && *message != "" {
		return fmt.Errorf("%w (%s)", err, *message)
	}
	return err
}

// Topic is a topic with the addresses of its partitions' leaders.
type Topic struct {
	Name    string
	ID      [16]byte
	Leaders []string // by partition; "" for one without a leader
}

// Topic asks for one topic.
func (c *Client) Topic(ctx context.Context, name string, create bool) (Topic, error) {
	m, err := c.Metadata(ctx, create, name)
	if err != nil {
		return Topic{}, err
	}
	if len(m.Topics) != 1 {
		return Topic{}, fmt.Errorf("topic %s: %w", name, ErrNoBroker)
	}
	found := m.Topics[0]
	if err := Failed(found.ErrorCode, nil); err != nil {
		return Topic{}, fmt.Errorf("topic %s: %w", name, err)
	}
	t := Topic{Name: name, ID: found.TopicID, Leaders: make([]string, len(found.Partitions))}
	addresses := map[int32]string{}
	for _, b := range m.Brokers {
		addresses[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	for _, p := range found.Partitions {
		if p.Partition < 0 || int(p.Partition) >= len(t.Leaders) {
			return Topic{}, fmt.Errorf("topic %s: partition %d of %d: %w", name, p.Partition, len(t.Leaders), ErrNoBroker)
		}
		t.Leaders[p.Partition] = addresses[p.Leader]
	}
	return t, nil
}
