package config

import "fmt"

// bounds is what must hold between two settings: name, an operator, other.
type bounds struct{ name, op, other string }

// kindBounds must hold for consumer, share and streams groups alike; the names go on after group.<kind>.
var kindBounds = [...]bounds{
	{"max.heartbeat.interval.ms", ">=", "min.heartbeat.interval.ms"},
	{"heartbeat.interval.ms", ">=", "min.heartbeat.interval.ms"},
	{"heartbeat.interval.ms", "<=", "max.heartbeat.interval.ms"},
	{"max.session.timeout.ms", ">=", "min.session.timeout.ms"},
	{"session.timeout.ms", ">=", "min.session.timeout.ms"},
	{"session.timeout.ms", "<=", "max.session.timeout.ms"},
	{"heartbeat.interval.ms", "<", "session.timeout.ms"},
	{"max.assignment.interval.ms", ">=", "min.assignment.interval.ms"},
	{"assignment.interval.ms", ">=", "min.assignment.interval.ms"},
	{"assignment.interval.ms", "<=", "max.assignment.interval.ms"},
}

// otherBounds must hold for one kind of group.
var otherBounds = [...]bounds{
	{"group.streams.num.standby.replicas", "<=", "group.streams.max.standby.replicas"},
	{"group.streams.task.offset.interval.ms", ">=", "group.streams.min.task.offset.interval.ms"},
	{"group.streams.num.warmup.replicas", "<=", "group.streams.max.warmup.replicas"},
	{"group.share.max.delivery.count.limit", ">=", "group.share.delivery.count.limit"},
	{"group.share.delivery.count.limit", ">=", "group.share.min.delivery.count.limit"},
	{"group.share.max.partition.max.record.locks", ">=", "group.share.partition.max.record.locks"},
	{"group.share.partition.max.record.locks", ">=", "group.share.min.partition.max.record.locks"},
	{"group.share.record.lock.duration.ms", ">=", "group.share.min.record.lock.duration.ms"},
	{"group.share.max.record.lock.duration.ms", ">=", "group.share.record.lock.duration.ms"},
	{"group.share.max.share.sessions", ">=", "group.share.max.size"},
}

// checkGroups holds the settings of groups against their bounds.
func (b *Broker) checkGroups() *Error {
	for _, kind := range [...]string{"group.consumer.", "group.share.", "group.streams."} {
		for _, k := range kindBounds {
			if err := b.checkBounds(bounds{kind + k.name, k.op, kind + k.other}); err != nil {
				return err
			}
		}
	}
	const assignors = "group.share.assignors"
	if n := len(b.List(assignors)); n != 1 {
		return refuse(assignors, "%s must contain exactly one assignor, but found %d", assignors, n)
	}
	for _, k := range otherBounds {
		if err := b.checkBounds(k); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) checkBounds(k bounds) *Error {
	left, right := b.Long(k.name), b.Long(k.other)
	var holds bool
	var words string
	switch k.op {
	case ">=":
		holds, words = left >= right, "greater than or equal to"
	case "<=":
		holds, words = left <= right, "less than or equal to"
	default:
		holds, words = left < right, "less than"
	}
	if holds {
		return nil
	}
	return &Error{Name: k.name, other: k.other, Kind: ErrInvalidConfig, Text: fmt.Sprintf("%s must be %s %s", k.name, words, k.other)}
}
