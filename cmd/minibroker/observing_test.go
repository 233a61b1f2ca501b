package main

import (
	"testing"

	"minibroker/config"
)

// TestOwnSettings: settings of our own may come from any place, flags count most, and Kafka's settings never see them.
func TestOwnSettings(t *testing.T) {
	props := []config.Property{{Key: "node.id", Value: "1"}, {Key: httpSetting, Value: ":1"}, {Key: controlSetting, Value: ":2"}, {Key: httpSetting, Value: ":3"}}
	rest, own := flags{}.ownSettings(props)
	if len(rest) != 1 || rest[0].Key != "node.id" || own[httpSetting] != ":3" || own[controlSetting] != ":2" || len(props) != 4 {
		t.Errorf("rest %v, own %v", rest, own)
	}
	if _, own := (flags{http: ":4", control: ":5"}).ownSettings(props); own[httpSetting] != ":4" || own[controlSetting] != ":5" {
		t.Errorf("with flags: %v", own)
	}
}
