package handlers

import "strings"

// The topics that the broker keeps its own state in.
const (
	offsetsTopic     = "__consumer_offsets"
	transactionTopic = "__transaction_state"
	shareStateTopic  = "__share_group_state"
	metadataTopic    = "__cluster_metadata"
)

// maxTopicName is the longest topic name in bytes: with "-", a partition
// number of ten digits and a deletion suffix it still fits into a file name.
const maxTopicName = 249

// isInternalTopic says which topics answers mark as internal.
func isInternalTopic(name string) bool {
	return name == offsetsTopic || name == transactionTopic || name == shareStateTopic
}

// checkTopicName returns an *apiError with Kafka's sentence for a name that no
// topic can have.
func checkTopicName(name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "the empty string is not allowed"
	case name == "." || name == "..":
		reason = "'" + name + "' is not allowed"
	case javaLength(name) > maxTopicName:
		reason = "the length of '" + name + "' is longer than the max allowed length 249"
	case strings.ContainsFunc(name, notTopicRune):
		reason = "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	}
	if reason == "" {
		return nil
	}
	return &apiError{codeInvalidTopicException, "Topic name is invalid: " + reason}
}

// javaLength is the length of a name as Kafka counts it, in UTF-16 units.
func javaLength(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

func notTopicRune(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		return false
	}
	return true
}

// collides reports whether two names differ in '.' and '_' at most. Kafka
// refuses two such topics because they share the names of their metrics.
func collides(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && !(collisionByte(a[i]) && collisionByte(b[i])) {
			return false
		}
	}
	return true
}

func collisionByte(c byte) bool { return c == '.' || c == '_' }
