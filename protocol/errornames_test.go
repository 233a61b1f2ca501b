package protocol

import "testing"

func TestErrorNames(t *testing.T) {
	for code, name := range map[int16]string{-1: "UNKNOWN_SERVER_ERROR", 0: "NONE", 3: "UNKNOWN_TOPIC_OR_PARTITION",
		6: "NOT_LEADER_OR_FOLLOWER", 79: "MEMBER_ID_REQUIRED", 100: "UNKNOWN_TOPIC_ID", 120: "TRANSACTION_ABORTABLE"} {
		if got := ErrorName(code); got != name {
			t.Errorf("code %d is %s, want %s", code, got, name)
		}
	}
	for code := UnknownServerError; int(code) < len(errorNames); code++ {
		if got, err := ParseError(ErrorName(code)); got != code || err != nil {
			t.Errorf("the name of %d is parsed as %d, %v", code, got, err)
		}
	}
	if got, err := ParseError("not_leader_or_follower"); got != 6 || err != nil {
		t.Errorf("small letters: %d, %v", got, err)
	}
	if got, err := ParseError("35"); got != 35 || err != nil {
		t.Errorf("a number: %d, %v", got, err)
	}
	for _, text := range []string{"", "NOT_A_LEADER", "-2", "137", "1.5"} {
		if code, err := ParseError(text); err == nil {
			t.Errorf("%q is parsed as %d", text, code)
		}
	}
	if ErrorName(999) != "999" {
		t.Errorf("unknown code: %s", ErrorName(999))
	}
}
