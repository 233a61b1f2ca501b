package integration

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Conn is one plain connection on which requests go out one at a time.
type Conn struct {
	c    net.Conn
	f    *kmsg.RequestFormatter
	corr int32
}

func dial(addr string) (*Conn, error) { return dialAs(addr, "golden") }

// dialAs connects with a client id.
func dialAs(addr, clientID string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &Conn{c: c, f: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))}, nil
}

// Close ends the connection.
func (c *Conn) Close() { c.c.Close() }

// Request sends r in the given version and decodes the answer.
func (c *Conn) Request(r kmsg.Request, version int16) (kmsg.Response, error) {
	r.SetVersion(version)
	c.corr++
	c.c.SetDeadline(time.Now().Add(2 * patience))
	if _, err := c.c.Write(c.f.AppendRequest(nil, r, c.corr)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.c, size[:]); err != nil {
		return nil, err
	}
	buf := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.c, buf); err != nil {
		return nil, err
	}
	if got := int32(binary.BigEndian.Uint32(buf)); got != c.corr {
		return nil, fmt.Errorf("correlation id %d, expected %d", got, c.corr)
	}
	buf = buf[4:]
	resp := r.ResponseKind()
	resp.SetVersion(version)
	if resp.IsFlexible() && r.Key() != int16(kmsg.ApiVersions) {
		buf = buf[1:]
	}
	return resp, resp.ReadFrom(buf)
}

// CreateTopic creates one topic.
func (c *Conn) CreateTopic(topic string, partitions int32, config map[string]string) error {
	r := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	for _, k := range slices.Sorted(maps.Keys(config)) {
		v := config[k]
		e := kmsg.NewCreateTopicsRequestTopicConfig()
		e.Name, e.Value = k, &v
		t.Configs = append(t.Configs, e)
	}
	r.Topics = append(r.Topics, t)
	r.TimeoutMillis = 30000
	resp, err := c.Request(r, 7)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return fmt.Errorf("create %s: error %d %s", t.Topic, t.ErrorCode, text(t.ErrorMessage))
		}
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Produce sends one record set with acks -1.
func (c *Conn) Produce(topic string, partition int32, raw []byte) (kmsg.ProduceResponseTopicPartition, error) {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = -1, 30000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, raw
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp, err := c.Request(r, 9)
	if err != nil {
		return kmsg.ProduceResponseTopicPartition{}, err
	}
	return resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0], nil
}

// ListOffset asks for the offset at a timestamp (-2 earliest, -1 latest).
func (c *Conn) ListOffset(topic string, partition int32, timestamp int64) (int64, error) {
	r := kmsg.NewPtrListOffsetsRequest()
	r.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, timestamp, -1
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp, err := c.Request(r, 7)
	if err != nil {
		return 0, err
	}
	q := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	if q.ErrorCode != 0 {
		return 0, fmt.Errorf("list offsets %s-%d: error %d", topic, partition, q.ErrorCode)
	}
	return q.Offset, nil
}

// DeleteRecords asks to delete all records below offset.
func (c *Conn) DeleteRecords(topic string, partition int32, offset int64) (low int64, code int16, err error) {
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.TimeoutMillis = 30000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp, err := c.Request(r, 2)
	if err != nil {
		return 0, 0, err
	}
	q := resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	return q.LowWatermark, q.ErrorCode, nil
}
