package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
)

// groupValue is a group's setting as it takes effect: its own, or what the broker has for it, or Kafka's default.
func (l Layers) groupValue(s *setting, overrides map[string]string) value {
	if has(overrides, s.name) {
		if v, err := s.parse(overrides); err == nil {
			return v
		}
	}
	if s.brokerName == "" {
		v, _ := s.parse(nil) // defaults are valid
		return v
	}
	v := l.value(s.brokerName)
	if list, ok := v.([]string); ok && s.typ == TypeString {
		return list[0] // the broker's list of assignors, which has at least one
	}
	return v
}

// DescribeGroup shows every setting of a group that has these settings of its own, sorted by name.
func (l Layers) DescribeGroup(overrides map[string]string) []Entry {
	var entries []Entry
	for i := range groupSettings {
		s := &groupSettings[i]
		if s.internal && !has(overrides, s.name) && !(s.brokerName != "" && l.isSet(s.brokerName)) {
			continue
		}
		v := text(l.groupValue(s, overrides))
		var synonyms []Synonym
		if has(overrides, s.name) {
			synonyms = append(synonyms, Synonym{Name: s.name, Value: v, Source: SourceGroup})
		}
		if s.brokerName != "" {
			synonyms = append(synonyms, l.synonyms(s.brokerName, s.sensitive())...)
		} else if def, ok := defaultOf(s); ok {
			synonyms = append(synonyms, Synonym{Name: s.name, Value: &def, Source: SourceDefault})
		}
		entries = append(entries, entry(s.name, s, v, false, synonyms))
	}
	return entries
}

func (l Layers) isSet(name string) bool {
	return has(l.Node, name) || has(l.ClusterDefault, name) || has(l.Static.static, name)
}

// DescribeClientMetrics shows every setting of a client metrics subscription, sorted by name.
func (l Layers) DescribeClientMetrics(overrides map[string]string) []Entry {
	var entries []Entry
	for i := range clientMetricsSettings {
		s := &clientMetricsSettings[i]
		v, err := s.parse(overrides)
		if err != nil {
			v, _ = s.parse(nil) // defaults are valid
		}
		var synonyms []Synonym
		if has(overrides, s.name) {
			synonyms = append(synonyms, Synonym{Name: s.name, Value: text(v), Source: SourceClientMetrics})
		}
		entries = append(entries, entry(s.name, s, text(v), false, synonyms))
	}
	return entries
}

// CheckClientMetrics checks all settings that a subscription would have. The error is an *Error with Kafka's text.
func (l Layers) CheckClientMetrics(overrides map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if find(clientMetricsSettings[:], name) == nil {
			return request(refuse(name, "Unknown client metrics configuration: %s", name))
		}
	}
	if err := firstWrong(clientMetricsSettings[:], overrides); err != nil {
		return err
	}
	if has(overrides, "interval.ms") {
		v, _ := find(clientMetricsSettings[:], "interval.ms").parse(overrides) // checked above
		if ms, ok := v.(int64); !ok || ms < 100 || ms > 3600000 {
			return request(refuse("interval.ms", "Invalid value %s for interval.ms, interval must be between 100 and 3600000 (1 hour)", javaString(v)))
		}
	}
	for _, pattern := range splitList(trim(overrides["match"])) {
		if !isMatchPattern(pattern) {
			return refuse("match", "Illegal client matching pattern: %s", pattern)
		}
	}
	return nil
}

// isMatchPattern says whether this is parameter=expression with a parameter that clients can be matched by and a regular expression.
func isMatchPattern(s string) bool {
	parts := strings.Split(strings.TrimRight(s, "="), "=") // Java's split drops empty parts at the end
	if len(parts) != 2 {
		return false
	}
	switch trim(parts[0]) {
	case "client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port":
		return !isBrokenExpression(trim(parts[1]))
	}
	return false
}

// isBrokenExpression is true for what is no regular expression to Java either. What Java knows and Go does not (looking ahead,
// possessive repetition) is none of these errors.
func isBrokenExpression(s string) bool {
	_, err := syntax.Parse(s, syntax.Perl)
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return false
	}
	switch wrong.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket, syntax.ErrInvalidCharRange,
		syntax.ErrMissingRepeatArgument, syntax.ErrTrailingBackslash:
		return true
	}
	return false
}

// groupLimits name the broker's settings between which a group's own value must lie; "" where there is no such bound.
var groupLimits = [...]struct{ name, min, max string }{
	{"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
	{"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	{"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
	{"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
	{"share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
	{"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
	{"share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"},
	{"share.partition.max.record.locks", "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
	{"share.assignment.interval.ms", "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
	{"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
	{"streams.session.timeout.ms", "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
	{"streams.num.standby.replicas", "", "group.streams.max.standby.replicas"},
	{"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
	{"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", ""},
	{"streams.num.warmup.replicas", "", "group.streams.max.warmup.replicas"},
}

// CheckGroup checks all settings that a group would have, alone, together and against the broker's bounds. The error is an
// *Error with Kafka's text.
func (l Layers) CheckGroup(overrides map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if find(groupSettings[:], name) == nil {
			return refuse(name, "Unknown group config name: %s", name)
		}
	}
	const tags = "streams.rack.aware.assignment.tags"
	if list := splitList(trim(overrides[tags])); len(distinct(list)) != len(list) {
		return refuse(tags, "%s must not contain duplicate tag keys.", tags)
	}
	if err := firstWrong(groupSettings[:], overrides); err != nil {
		return err
	}
	for _, limit := range groupLimits {
		if err := l.checkGroupLimit(limit.name, limit.min, limit.max, overrides); err != nil {
			return err
		}
	}
	const assignor = "streams.assignor.name"
	if name, ok := overrides[assignor]; ok && !slices.Contains(l.List("group.streams.assignors"), trim(name)) {
		return refuse(assignor, "%s '%s' is not a registered task assignor. Registered assignors are: %s.", assignor, trim(name),
			javaList(l.List("group.streams.assignors")))
	}
	return l.checkGroupTogether(overrides)
}

func (l Layers) checkGroupLimit(name, low, high string, overrides map[string]string) error {
	if !has(overrides, name) {
		return nil
	}
	n, _ := l.groupValue(find(groupSettings[:], name), overrides).(int64)
	tooLow, tooHigh := low != "" && n < l.Long(low), high != "" && n > l.Long(high)
	switch {
	case !tooLow && !tooHigh:
		return nil
	case low == "":
		return refuse(name, "%s must be less than or equal to %d", name, l.Long(high))
	case high == "":
		return refuse(name, "%s must be greater than or equal to %d", name, l.Long(low))
	}
	return refuse(name, "%s must be in the range %d to %d inclusive.", name, l.Long(low), l.Long(high))
}

func (l Layers) checkGroupTogether(overrides map[string]string) error {
	long := func(name string) int64 {
		n, _ := l.groupValue(find(groupSettings[:], name), overrides).(int64)
		return n
	}
	for _, kind := range [...]string{"consumer", "share", "streams"} {
		session, heartbeat := kind+".session.timeout.ms", kind+".heartbeat.interval.ms"
		if (has(overrides, session) || has(overrides, heartbeat)) && long(session) <= long(heartbeat) {
			return refuse(session, "%s must be greater than %s", session, heartbeat)
		}
	}
	const dlq = "errors.deadletterqueue.topic.name"
	if strings.HasPrefix(trim(overrides[dlq]), "__") {
		return &Error{Name: dlq, Kind: ErrInvalidConfig, Text: fmt.Sprintf("%s: DLQ topic name must not start with '__'", dlq)}
	}
	return nil
}
