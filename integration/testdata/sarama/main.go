// Command member is a member of a consumer group with Sarama. It prints each value that it reads, commits its offset, and
// leaves at the end of standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/IBM/sarama"
)

// handler reads the partitions of one generation.
type handler struct{}

func (handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			fmt.Println(string(m.Value))
			s.MarkMessage(m, "")
			s.Commit()
		case <-s.Context().Done():
			return nil
		}
	}
}

// main takes the address, topic, group and instance id, which may be empty.
func main() {
	addr, topic, group, instance := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.Consumer.Group.Session.Timeout = 3 * time.Second
	c.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	c.Consumer.Group.InstanceId = instance
	g, err := sarama.NewConsumerGroup([]string{addr}, group, c)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{topic}, handler{}); err != nil {
			log.Print(err)
		}
	}
	if err := g.Close(); err != nil {
		log.Fatal(err)
	}
}
