package minibroker

import (
	"testing"

	"minibroker/config"
)

// TestReceiveBuffer sets every size but Kafka's default, whoever names that.
func TestReceiveBuffer(t *testing.T) {
	for _, test := range []struct {
		set  string // "" for nothing
		want int    // -1 for the system's
	}{{"", -1}, {"102400", -1}, {"-1", -1}, {"16384", 16384}, {"1048576", 1048576}} {
		props := memProperties()
		if test.set != "" {
			props = append(props, config.Property{Key: "socket.receive.buffer.bytes", Value: test.set, Source: "test"})
		}
		c, _, err := config.Parse(props)
		if err != nil {
			t.Fatal(err)
		}
		if got := receiveBuffer(c.Int("socket.receive.buffer.bytes")); got != test.want {
			t.Errorf("%q: %d instead of %d", test.set, got, test.want)
		}
	}
}
