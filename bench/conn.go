package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is a plain connection with one request in flight: for what a whole client would blur.
type conn struct {
	net.Conn
	format *kmsg.RequestFormatter
	id     int32
	buf    []byte
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))}, nil
}

// ask sends a request in a version and decodes the answer into resp. What resp holds is good until the next ask.
func (c *conn) ask(r kmsg.Request, version int16, resp kmsg.Response) error {
	const longest = 2 * time.Minute // for a broker that stands still
	const largest = 64 << 20
	r.SetVersion(version)
	resp.SetVersion(version)
	c.id++
	c.buf = c.format.AppendRequest(c.buf[:0], r, c.id)
	if err := c.SetDeadline(time.Now().Add(longest)); err != nil {
		return err
	}
	if _, err := c.Write(c.buf); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(head[:])) - 4
	if id := int32(binary.BigEndian.Uint32(head[4:])); id != c.id || size < 0 || size > largest {
		return fmt.Errorf("request %d: an answer of %d bytes to request %d", c.id, size, id)
	}
	if cap(c.buf) < size {
		c.buf = make([]byte, size)
	}
	body := c.buf[:size]
	if _, err := io.ReadFull(c, body); err != nil {
		return err
	}
	if resp.IsFlexible() && r.Key() != int16(kmsg.ApiVersions) && size > 0 {
		body = body[1:] // the header's tags, none
	}
	return resp.ReadFrom(body)
}

// greet asks for the API versions, as each client does first.
func (c *conn) greet() error {
	var resp kmsg.ApiVersionsResponse
	if err := c.ask(kmsg.NewPtrApiVersionsRequest(), 0, &resp); err != nil {
		return err
	}
	if len(resp.ApiKeys) == 0 {
		return fmt.Errorf("ApiVersions names no API, error %d", resp.ErrorCode)
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}

// batchAt fetches the one batch that holds an offset, and gives its first and last offset.
func (c *conn) batchAt(topic string, partition int32, offset int64) (first, last int64, err error) {
	r := kmsg.NewPtrFetchRequest()
	r.ReplicaID, r.MaxBytes, r.SessionEpoch = -1, 1, -1
	rt, rp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	rt.Topic, rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = topic, partition, offset, 1
	rt.Partitions = []kmsg.FetchRequestTopicPartition{rp}
	r.Topics = []kmsg.FetchRequestTopic{rt}
	var resp kmsg.FetchResponse
	if err := c.ask(r, 11, &resp); err != nil {
		return 0, 0, err
	}
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, 0, fmt.Errorf("fetch: error %d, %d topics", resp.ErrorCode, len(resp.Topics))
	}
	p := resp.Topics[0].Partitions[0]
	const header = 61 // of a batch, in which the first offset stands at 0 and the last one's distance at 23
	if p.ErrorCode != 0 {
		return 0, 0, fmt.Errorf("fetch of %s-%d at offset %d: %w", topic, partition, offset, kerr.ErrorForCode(p.ErrorCode))
	}
	if len(p.RecordBatches) < header {
		return 0, 0, fmt.Errorf("fetch of %s-%d at offset %d gave %d bytes", topic, partition, offset, len(p.RecordBatches))
	}
	first = int64(binary.BigEndian.Uint64(p.RecordBatches))
	return first, first + int64(binary.BigEndian.Uint32(p.RecordBatches[23:])), nil
}

// dialMany opens connections and greets on each.
func dialMany(addr string, n int) ([]*conn, error) {
	var all []*conn
	for range n {
		c, err := dial(addr)
		if err != nil {
			return all, err
		}
		all = append(all, c)
		if err := c.greet(); err != nil {
			return all, fmt.Errorf("connection %d: %w", len(all), err)
		}
	}
	return all, nil
}

func hangUp(all []*conn) {
	for _, c := range all {
		c.Close()
	}
}
