package config

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkKind is the rule that a parsed value must keep.
type checkKind int8

const (
	anything            checkKind = iota
	inRange                       // min and max, both inclusive, each may be missing
	oneOf                         // one of in
	oneOfFold                     // one of in, whatever the case
	validList                     // no empty or repeated words; only words of in when there are any
	nonEmpty                      // a string with something in it
	gzipLevel                     // 1 to 9 or -1
	throttledReplicas             // partition:broker pairs or *
	quorumVoters                  // id@host:port
	bootstrapServers              // host:port
	offsetResetStrategy           // earliest, latest, by_duration:PT1H
)

// check is a rule with its arguments. min and max are texts because they are printed as Kafka writes them.
type check struct {
	kind     checkKind
	min, max string
	in       []string
	notEmpty bool // validList: at least one word
	nullOK   bool // validList: null will do
}

// verify gives Kafka's objection to a parsed value, or nil.
func (c *check) verify(name string, v value) *Error {
	switch c.kind {
	case inRange:
		return c.verifyRange(name, v)
	case oneOf:
		if s, ok := v.(string); !ok || !slices.Contains(c.in, s) {
			return invalidValue(name, javaString(v), "String must be one of: "+strings.Join(c.in, ", "))
		}
	case oneOfFold:
		if s, ok := v.(string); !ok || !slices.Contains(c.in, strings.ToUpper(s)) {
			return invalidValue(name, javaString(v), "String must be one of (case insensitive): "+strings.Join(c.in, ", "))
		}
	case validList:
		return c.verifyList(name, v)
	case nonEmpty:
		if v == "" {
			return invalidValue(name, "", "String must be non-empty")
		}
	case gzipLevel:
		if n, ok := v.(int64); !ok || n != -1 && (n < 1 || n > 9) {
			return invalidValue(name, javaString(v), "Value must be between 1 and 9 or equal to -1")
		}
	case throttledReplicas:
		return verifyThrottledReplicas(name, v)
	case quorumVoters:
		_, err := parseVoters(asList(v))
		return err
	case bootstrapServers:
		return verifyBootstrapServers(asList(v))
	case offsetResetStrategy:
		return verifyOffsetReset(name, v)
	}
	return nil
}

func asList(v value) []string {
	list, _ := v.([]string)
	return list
}

func (c *check) verifyRange(name string, v value) *Error {
	var f float64
	switch v := v.(type) {
	case int64:
		f = float64(v)
	case float64:
		f = v
	default:
		return invalidValue(name, "null", "Value must be non-null")
	}
	if c.min != "" && f < bound(c.min) {
		return invalidValue(name, javaString(v), "Value must be at least "+c.min)
	}
	if c.max != "" && f > bound(c.max) {
		return invalidValue(name, javaString(v), "Value must be no more than "+c.max)
	}
	return nil
}

func bound(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64) // the tables hold numbers only, a test sees to it
	return f
}

func (c *check) verifyList(name string, v value) *Error {
	if v == nil {
		if c.nullOK {
			return nil
		}
		return refuse(name, "Configuration '%s' values must not be null.", name)
	}
	list := asList(v)
	if c.notEmpty && len(list) == 0 {
		valid := "any non-empty value"
		if len(c.in) > 0 {
			valid = javaList(c.in)
		}
		return refuse(name, "Configuration '%s' must not be empty. Valid values include: %s", name, valid)
	}
	for _, word := range list {
		if word == "" {
			return refuse(name, "Configuration '%s' values must not be empty.", name)
		}
		if len(c.in) > 0 && !slices.Contains(c.in, word) {
			return invalidValue(name, word, "String must be one of: "+strings.Join(c.in, ", "))
		}
	}
	return nil
}

// distinct keeps the first of equal words, as Kafka does with lists before it looks at them.
func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if out == nil {
		return []string{}
	}
	return out
}

func verifyThrottledReplicas(name string, v value) *Error {
	list := asList(v)
	all := ""
	good := true
	for _, word := range list {
		word = trim(word)
		all += word
		partition, broker, pair := strings.Cut(word, ":")
		if word != "" && !(pair && digits(partition) && digits(broker)) {
			good = false
		}
	}
	if good || all == "*" {
		return nil
	}
	return invalidValue(name, javaString(v), name+" must be the literal '*' or a list of replicas in the following format: "+
		"[partitionId]:[brokerId],[partitionId]:[brokerId],...")
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// verifyOffsetReset checks share.auto.offset.reset.
func verifyOffsetReset(name string, v value) *Error {
	s, _ := v.(string)
	if s == "earliest" || s == "latest" {
		return nil
	}
	if d, ok := strings.CutPrefix(s, "by_duration:"); ok {
		if _, err := parseISODuration(d); err == nil {
			return nil
		}
	}
	return invalidValue(name, s, "Invalid value `"+s+"` for configuration "+name+". The value must be either 'earliest', 'latest' or of the "+
		"format 'by_duration:<PnDTnHnMn.nS>'.")
}

// parseISODuration reads PnDTnHnMn.nS, not negative, each part at most once and only seconds with a fraction.
func parseISODuration(s string) (time.Duration, error) {
	rest, ok := strings.CutPrefix(strings.ToUpper(s), "P")
	if !ok || rest == "" || strings.HasSuffix(rest, "T") {
		return 0, strconv.ErrSyntax
	}
	var total float64
	for _, part := range [...]struct {
		unit    string
		seconds float64
	}{{"D", 86400}, {"T", 0}, {"H", 3600}, {"M", 60}, {"S", 1}} {
		number, after, found := strings.Cut(rest, part.unit)
		if part.unit == "T" {
			if !found && rest != "" || number != "" {
				return 0, strconv.ErrSyntax
			}
			rest = after
			continue
		}
		if !found {
			continue
		}
		if whole, fraction, hasFraction := strings.Cut(number, "."); !digits(whole) || hasFraction && (part.unit != "S" || fraction != "" && !digits(fraction)) {
			return 0, strconv.ErrSyntax
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, err
		}
		total += n * part.seconds
		rest = after
	}
	if rest != "" || total > math.MaxInt64/1e9 {
		return 0, strconv.ErrSyntax
	}
	return time.Duration(total * 1e9), nil
}
