package minibroker

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"minibroker/config"
	"minibroker/metadata"
	"minibroker/quota"
	"minibroker/server"
)

// The parts of entities and the names of limits in client quotas.
const (
	quotaUser         = "user"
	quotaClient       = "client-id"
	quotaIP           = "ip"
	connectionRateKey = "connection_creation_rate"
)

// quotaKinds are the limits that users and client ids can have.
func quotaKinds() map[string]quota.Kind {
	return map[string]quota.Kind{
		"producer_byte_rate": quota.Produce, "consumer_byte_rate": quota.Fetch,
		"request_percentage": quota.Request, "controller_mutation_rate": quota.Mutations,
	}
}

// newQuotas makes the quotas that the metadata holds.
func (b *Broker) newQuotas() *quota.Quotas {
	window := func(prefix string) quota.Window {
		return quota.Window{
			Samples: b.config.Int(prefix + "quota.window.num"),
			Size:    time.Duration(b.config.Long(prefix+"quota.window.size.seconds")) * time.Second,
		}
	}
	q := quota.New(quota.Options{Clients: window(""), Mutations: window("controller.")})
	q.Set(quotaRules(b.meta.Image()))
	return q
}

// quotaRules are the limits of users and client ids.
func quotaRules(image *metadata.Image) []quota.Rule {
	var rules []quota.Rule
	kinds := quotaKinds()
	for _, q := range image.Quotas() {
		var rule quota.Rule
		for _, e := range q.Entity {
			who := quota.Default()
			if e.Name != nil {
				who = quota.Named(*e.Name)
			}
			switch e.Type {
			case quotaUser:
				rule.User = who
			case quotaClient:
				rule.Client = who
			}
		}
		for name, limit := range q.Limits {
			if kind, ok := kinds[name]; ok {
				rule.Kind, rule.Limit = kind, limit
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// connectionLimits are what the settings and the quotas of addresses say about connections.
func (b *Broker) connectionLimits(layers config.Layers, image *metadata.Image) server.Limits {
	l := server.Limits{
		MaxConnections:      layers.Int("max.connections"),
		CreationRate:        layers.Int("max.connection.creation.rate"),
		MaxConnectionsPerIP: layers.Int("max.connections.per.ip"),
		PerIPOverrides:      connectionOverrides(layers.String("max.connections.per.ip.overrides")),
		ProtectedListener:   b.protectedListener(),
		Listeners:           make(map[string]server.ListenerLimits),
		IPCreationRates:     make(map[netip.Addr]int),
	}
	if l.MaxConnectionsPerIP == 0 {
		l.MaxConnectionsPerIP = -1 // Kafka's 0 refuses all that have no override
	}
	for _, bound := range b.bound() {
		var own server.ListenerLimits
		own.MaxConnections, _ = layers.ListenerInt(bound.config.Name, "max.connections")
		own.CreationRate, _ = layers.ListenerInt(bound.config.Name, "max.connection.creation.rate")
		l.Listeners[bound.config.Name] = own
	}
	for _, q := range image.Quotas() {
		rate, limited := q.Limits[connectionRateKey]
		if !limited || len(q.Entity) != 1 || q.Entity[0].Type != quotaIP {
			continue
		}
		if name := q.Entity[0].Name; name == nil {
			l.IPCreationRate = int(rate)
		} else {
			for _, addr := range addressesOf(*name) {
				l.IPCreationRates[addr] = int(rate)
			}
		}
	}
	return l
}

// lookupTimeout bounds how long a host's name in a quota may take to look up; it was looked up when the quota was set.
const lookupTimeout = time.Second

// addressesOf are the addresses of an IP or a host's name, none when it is not known.
func addressesOf(host string) []netip.Addr {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found
}

// connectionOverrides reads max.connections.per.ip.overrides: host:count,host:count. Hosts may be names.
func connectionOverrides(text string) map[string]int {
	overrides := make(map[string]int)
	for _, item := range strings.Split(text, ",") {
		at := strings.LastIndex(item, ":")
		if at < 0 {
			continue
		}
		count, err := strconv.Atoi(strings.TrimSpace(item[at+1:]))
		if err != nil {
			continue
		}
		for _, addr := range addressesOf(strings.TrimSpace(item[:at])) {
			overrides[addr.String()] = count
		}
	}
	return overrides
}

// followLimits puts changed quotas and limits on connections in force.
func (b *Broker) followLimits(old, image *metadata.Image, settings bool) {
	if b.server == nil {
		return // the start sets them
	}
	same := image.SameQuotas(old)
	if !same {
		b.quotas.Set(quotaRules(image))
	}
	if !same || settings {
		b.server.SetLimits(b.connectionLimits(layersOf(b.config, image), image))
	}
}

// protectedListener is the listener between brokers when there are others beside it: clients of those cannot take its
// connections.
func (b *Broker) protectedListener() string {
	if len(b.bound()) < 2 {
		return ""
	}
	return b.config.InterBrokerListener()
}
