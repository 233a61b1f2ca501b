package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// clientTimeout bounds a request and its repetitions, as default.api.timeout.ms of Kafka's tools does.
const clientTimeout = 60 * time.Second

// connect makes a client of the brokers that an option names.
func connect(a arguments, more ...kgo.Opt) (*kgo.Client, error) {
	servers := a.one("bootstrap-server")
	if servers == "" {
		return nil, errors.New("Missing required argument \"[bootstrap-server]\"")
	}
	for _, name := range []string{"command-config", "consumer.config", "producer.config"} {
		if file := a.one(name); file != "" {
			if err := checkProperties(file); err != nil {
				return nil, err
			}
		}
	}
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9) // from 10 on topics are named by id alone
	versions.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	options := append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.MaxVersions(versions),
		kgo.ClientID("kafkatools"),
		kgo.RetryTimeout(clientTimeout),
	}, more...)
	return kgo.NewClient(options...)
}

// checkProperties reads a file of client properties and refuses what these tools cannot do.
func checkProperties(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if strings.TrimSpace(key) == "security.protocol" && strings.TrimSpace(value) != "PLAINTEXT" {
			return fmt.Errorf("%s: security.protocol=%s: the tools of this image speak PLAINTEXT alone; use the ones of an Apache Kafka distribution", file, strings.TrimSpace(value))
		}
	}
	return nil
}

// ask sends a request and returns its answer, within the tools' time.
func ask[R kmsg.Response](ctx context.Context, client *kgo.Client, request kmsg.Request) (R, error) {
	ctx, stop := context.WithTimeout(ctx, clientTimeout)
	defer stop()
	var none R
	answer, err := client.Request(ctx, request)
	if err != nil {
		return none, err
	}
	typed, ok := answer.(R)
	if !ok {
		return none, fmt.Errorf("answer of type %T", answer)
	}
	return typed, nil
}

// brokerError is an error code in an answer, with what the broker said of it.
type brokerError struct {
	name string // of the code, as GROUP_ID_NOT_FOUND
	text string
}

func (e *brokerError) Error() string { return e.text }

// javaName is the error as Java prints it: the name of its class, then its text.
func (e *brokerError) javaName() string {
	var class strings.Builder
	for _, word := range strings.Split(strings.ToLower(e.name), "_") {
		class.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return "org.apache.kafka.common.errors." + class.String() + "Exception: " + e.text
}

// answerError is the error that a code in an answer means; the broker's own words go first.
func answerError(code int16, message *string) error {
	if code == 0 {
		return nil
	}
	e := &brokerError{name: "UNKNOWN_SERVER_ERROR", text: fmt.Sprintf("The server answered with error code %d.", code)}
	if known := kerr.TypedErrorForCode(code); known != nil {
		e.name, e.text = known.Message, known.Description
	}
	if message != nil && *message != "" {
		e.text = *message
	}
	return e
}

// metadata asks for topics; none named means all.
func metadata(ctx context.Context, client *kgo.Client, topics ...string) (*kmsg.MetadataResponse, error) {
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, topic)
	}
	return ask[*kmsg.MetadataResponse](ctx, client, request)
}
