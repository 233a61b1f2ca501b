package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// ErrInvalidRule says that a rule cannot be meant; the text around it says what to change.
var ErrInvalidRule = errors.New("invalid fault")

// maxDelay bounds a delay: more is a mistake in the unit.
const maxDelay = time.Hour

// Rule says which requests to harm, and how. The zero value of a field that selects matches everything.
type Rule struct {
	// API is Kafka's name of the requests, such as "Produce" or "OffsetCommit"; letters of either case.
	API string
	// Topic is a topic that the request has to name.
	Topic string
	// Partition is a partition of Topic that the request has to name; nil is any.
	Partition *int32
	// ClientID is the client.id that the request has to come with.
	ClientID string

	// Error is the code that is answered, by Kafka's name or by its number; "" is none. What a rule with a topic or partition does
	// not select of a request is handled as ever, and answered beside it.
	Error string
	// Delay is how long a request waits before anything else is done with it.
	Delay time.Duration
	// Drop closes the connection without an answer.
	Drop bool
	// After harms the answer alone: the request takes effect, and then its answer is replaced by Error or lost with Drop.
	After bool

	// Times is how many requests the rule harms; 0 is all.
	Times int
}

// kind is a rule that was checked.
type kind struct {
	key  int16 // of the API; -1 is any
	code int16 // 0 is none
}

const anyKey = -1

// check refuses what cannot be meant.
func (r *Rule) check() (k kind, err error) {
	k.key = anyKey
	if r.API != "" {
		if k.key, err = keyOf(r.API); err != nil {
			return k, err
		}
	}
	if r.Error != "" {
		if k.code, err = protocol.ParseError(r.Error); err != nil {
			return k, fmt.Errorf("%w: error %w", ErrInvalidRule, err)
		}
		if k.code == 0 {
			return k, fmt.Errorf("%w: error NONE is no error", ErrInvalidRule)
		}
	}
	switch {
	case r.Error == "" && r.Delay == 0 && !r.Drop:
		err = errors.New("it does nothing: give error, delay or drop")
	case r.Error != "" && r.Drop:
		err = errors.New("error and drop exclude each other: a dropped connection gets no answer")
	case r.After && r.Error == "" && !r.Drop:
		err = errors.New("after needs error or drop: a delay comes before the request is handled")
	case r.Delay < 0 || r.Delay > maxDelay:
		err = fmt.Errorf("delay is %v: want up to %v", r.Delay, maxDelay)
	case r.Times < 0:
		err = fmt.Errorf("times is %d: want 1 or more, or nothing for always", r.Times)
	case r.Partition != nil && r.Topic == "":
		err = errors.New("partition needs a topic")
	case r.Partition != nil && *r.Partition < 0:
		err = fmt.Errorf("partition is %d: want 0 or more", *r.Partition)
	default:
		err = r.checkNames(k.key)
	}
	if err != nil {
		return k, fmt.Errorf("%w: %w", ErrInvalidRule, err)
	}
	return k, nil
}

// checkNames refuses topics and partitions where requests do not name any.
func (r *Rule) checkNames(key int16) error {
	if key == anyKey || r.Topic == "" {
		return nil
	}
	topics, partitions := names(key)
	if !topics {
		return fmt.Errorf("%s requests name no topics: leave topic out", protocol.KeyName(key))
	}
	if r.Partition != nil && !partitions {
		return fmt.Errorf("%s requests name no partitions: leave partition out", protocol.KeyName(key))
	}
	return nil
}

// keyOf finds an API by its name.
func keyOf(name string) (int16, error) {
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if kmsg.RequestForKey(key) != nil && strings.EqualFold(protocol.KeyName(key), name) {
			return key, nil
		}
	}
	return 0, fmt.Errorf("%w: there is no API %q: give Kafka's name, such as Produce, Fetch or JoinGroup", ErrInvalidRule, name)
}
