package telemetry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func client(n byte) Client {
	return Client{InstanceID: [16]byte{1, 2, 3, n}, ID: "app", SoftwareName: "java", SoftwareVersion: "4.4.0", Address: "10.0.0.1", Port: "5000"}
}

func TestIntervalsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := NewRegistry(), client(1)
		a, err := r.Subscribe(c, "id", nil)
		if err != nil || a.Interval != DefaultInterval {
			t.Fatalf("%+v, %v", a, err)
		}
		push := func(p Push) error { p.MaxSize = 100; return r.Accept(c, "id", nil, p) }
		if _, err := r.Subscribe(c, "id", nil); !errors.Is(err, ErrThrottled) {
			t.Errorf("asking twice: %v", err)
		}
		time.Sleep(time.Second)
		if err := push(Push{SubscriptionID: a.ID}); err != nil {
			t.Errorf("the first push: %v", err)
		}
		if err := push(Push{SubscriptionID: a.ID}); !errors.Is(err, ErrThrottled) {
			t.Errorf("a second push: %v", err)
		}
		time.Sleep(DefaultInterval * time.Millisecond)
		if err := push(Push{SubscriptionID: a.ID + 1}); !errors.Is(err, ErrUnknownSubscription) {
			t.Errorf("a push for another subscription: %v", err)
		}
		if _, err := r.Subscribe(c, "id", nil); err != nil {
			t.Errorf("asking after an unknown subscription: %v", err)
		}
		time.Sleep(DefaultInterval * time.Millisecond)
		if err := push(Push{SubscriptionID: a.ID, Compression: 9}); !errors.Is(err, ErrUnsupportedCompression) {
			t.Errorf("codec 9: %v", err)
		}
		time.Sleep(DefaultInterval * time.Millisecond)
		if err := push(Push{SubscriptionID: a.ID, Size: 101}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("101 bytes: %v", err)
		}
		if err := push(Push{SubscriptionID: a.ID, Terminating: true}); err != nil {
			t.Errorf("the last push: %v", err)
		}
		if err := push(Push{SubscriptionID: a.ID}); !errors.Is(err, ErrTerminated) {
			t.Errorf("a push after the last: %v", err)
		}
	})
}

func TestSubscriptionsJoin(t *testing.T) {
	subscriptions := []Subscription{
		ParseSubscription("a", map[string]string{"metrics": "x, y", "interval.ms": "2000", "match": "client_id=ap.*,client_software_name=java"}),
		ParseSubscription("b", map[string]string{"metrics": "y,z", "interval.ms": "1000", "match": "client_source_address=10\\.0\\.0\\.1"}),
		ParseSubscription("c", map[string]string{"metrics": "*", "match": "client_id=ap"}), // must match the whole
		ParseSubscription("d", map[string]string{"metrics": "w", "match": "client_id=("}),
	}
	c := client(1)
	if a := assign(&c, "id", subscriptions); a.Interval != 1000 || len(a.Metrics) != 3 || a.Metrics[2] != "z" {
		t.Errorf("assigned %+v", a)
	}
	c.ID = "ap"
	if a := assign(&c, "id", subscriptions); len(a.Metrics) != 1 || a.Metrics[0] != "*" {
		t.Errorf("all metrics: %+v", a)
	}
}

func TestClientsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		short := []Subscription{ParseSubscription("s", map[string]string{"interval.ms": "100"})}
		for n := range maxInstances + 5 {
			c := Client{InstanceID: [16]byte{byte(n), byte(n >> 8), byte(n >> 16), 1}}
			if _, err := r.Subscribe(c, "", short); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.byID) != maxInstances || r.recent.Len() != maxInstances {
			t.Errorf("%d clients are remembered", len(r.byID))
		}
		time.Sleep(leastExpiry)
		if _, err := r.Subscribe(client(1), "id", short); err != nil || len(r.byID) != 1 {
			t.Errorf("%d clients are remembered, %v", len(r.byID), err)
		}
	})
}
