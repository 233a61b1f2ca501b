package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"minibroker"
	"minibroker/config"
	"minibroker/fault"
	"minibroker/meter"
	"minibroker/observe"
)

// Settings of our own, which Kafka does not have.
const (
	httpSetting    = "minibroker.http.listen"    // --http
	controlSetting = "minibroker.control.listen" // --control
)

// observing is what is served over HTTP beside the broker.
type observing struct {
	log           *slog.Logger
	http, control string // addresses; "" for what is not wanted
	requests      *meter.Requests
	faults        *fault.Set
	monitor       *observe.Monitor
	servers       []*observe.Server
}

// ownSettings takes the settings of our own out of those that are Kafka's.
func (f flags) ownSettings(props []config.Property) (rest []config.Property, own map[string]string) {
	own = map[string]string{}
	rest = slices.DeleteFunc(slices.Clone(props), func(p config.Property) bool {
		if p.Key != httpSetting && p.Key != controlSetting {
			return false
		}
		own[p.Key] = p.Value // the last one counts
		return true
	})
	for setting, flag := range map[string]string{httpSetting: f.http, controlSetting: f.control} {
		if flag != "" {
			own[setting] = flag
		}
	}
	return rest, own
}

// newObserving binds the port of the monitor, so that a taken one is noticed before anything on disk changes and the start can be
// watched. Without an address nothing is counted beyond what costs nothing.
func newObserving(log *slog.Logger, own map[string]string) (*observing, error) {
	o := &observing{log: log.With(loggerKey, "minibroker.observe"), http: own[httpSetting], control: own[controlSetting]}
	if o.control != "" {
		o.faults = fault.NewSet()
	}
	if o.http == "" {
		return o, nil
	}
	o.requests = &meter.Requests{}
	o.monitor = observe.NewMonitor(o.requests)
	server, err := observe.Listen(o.http, o.monitor, o.log)
	if err != nil {
		return nil, err
	}
	o.servers = append(o.servers, server)
	o.log.Info("Metrics, health and profiles on http://" + server.Addr().String())
	return o, nil
}

// watch shows the broker, and lets its faults be controlled.
func (o *observing) watch(b *minibroker.Broker) error {
	if o.monitor != nil {
		o.monitor.Watch(b)
	}
	if o.control == "" {
		return nil
	}
	server, err := observe.Listen(o.control, observe.NewControl(b, o.faults), o.log)
	if err != nil {
		return err
	}
	o.servers = append(o.servers, server)
	o.log.Warn("Whoever reaches http://" + server.Addr().String() + " can make this broker misbehave: it is for tests")
	return nil
}

// close stops serving over HTTP.
func (o *observing) close() {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	var errs []error
	for _, s := range o.servers {
		errs = append(errs, s.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		o.log.Warn("Closing the HTTP ports: " + err.Error())
	}
}
