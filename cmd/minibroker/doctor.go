package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/client"
	"minibroker/config"
)

// errIll ends doctor with exit code 1 after the findings were printed.
var errIll = errors.New("clients cannot work with this")

func newDoctor(stdout io.Writer) *cobra.Command {
	var f flags
	patience := lookPatience
	cmd := &cobra.Command{
		Use:   "doctor [HOST:PORT | server.properties]",
		Short: "Connect to each listener as a client would, and say what keeps clients from working",
		Long: `doctor looks at a broker from where it is run. For each listener of the broker at HOST:PORT, or of the one that the file, environment and
flags describe, it tells which address clients are told, and whether that can be resolved, be connected to, and belongs to the same
broker: most clients that connect and then hang were told an address that they cannot reach. It names the settings that have no
effect. Run it where the client runs, in its container for example. The exit code is 1 when something keeps clients from working.`,
		Example: `  minibroker doctor                          # the broker that would be started here, or 127.0.0.1:9092
  minibroker doctor kafka:19092              # as a client of that listener
  minibroker doctor server.properties
  docker compose exec kafka /minibroker doctor localhost:9092`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := doctor{patience: patience}
			if len(args) > 0 && isAddress(args[0]) {
				d.byAddress(cmd.Context(), args[0])
			} else {
				if len(args) > 0 {
					f.file = args[0]
				}
				d.byConfig(cmd.Context(), f)
			}
			if printAll(stdout, d.findings) > 0 {
				return errIll
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&patience, "timeout", patience, "wait so long for each address")
	return cmd
}

// isAddress tells HOST:PORT from the name of a file.
func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil && !strings.Contains(s, "/")
}

// doctor gathers findings.
type doctor struct {
	patience time.Duration
	findings []finding
}

func (d *doctor) add(s severity, about, cause, remedy string) {
	d.findings = append(d.findings, finding{s, about, cause, remedy})
}

// seen is what a broker says of itself at one address.
type seen struct {
	cluster string
	node    int32
	told    string // HOST:PORT that clients of this listener are told; "" when the answer names no such broker
	took    time.Duration
}

// visit asks the broker at an address who it is and where clients shall go.
func (d *doctor) visit(ctx context.Context, addr string) (seen, error) {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	began := time.Now()
	c := client.New(addr)
	defer c.Close()
	m, err := c.Metadata(ctx, false)
	if err != nil {
		return seen{}, err
	}
	s := seen{node: m.ControllerID, took: time.Since(began)}
	if m.ClusterID != nil {
		s.cluster = *m.ClusterID
	}
	for _, b := range m.Brokers {
		if b.NodeID == m.ControllerID || s.told == "" {
			s.node, s.told = b.NodeID, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		}
	}
	return s, nil
}

// byConfig looks at the listeners that settings describe.
func (d *doctor) byConfig(ctx context.Context, f flags) {
	_, conf, findings := f.examine()
	d.findings = append(d.findings, findings...)
	if conf == nil {
		return
	}
	for _, l := range conf.Listeners() {
		if l.IsController {
			d.add(notable, "listener "+l.Name, "is the controller's, which this broker does not bind: clients have no use for it", "")
			continue
		}
		about := "listener " + l.Name
		if l.Port == 0 {
			d.add(notable, about, "has port 0: the system chooses one at the start, which --ports-file tells", "")
			continue
		}
		addr := hostPort(l.Host, l.Port)
		s, err := d.visit(ctx, addr)
		if err != nil {
			d.add(failure, about+" at "+addr, reason(err), reachRemedy(addr, err))
			continue
		}
		want := net.JoinHostPort(l.AdvertisedHost, strconv.Itoa(l.AdvertisedPort))
		if l.AdvertisedPort != 0 && s.told != want {
			d.add(warning, about+" at "+addr, fmt.Sprintf("tells clients %s, and these settings say %s: the broker runs with others", s.told, want), "start the broker with these settings")
		}
		d.follow(ctx, about+" at "+addr, s)
	}
}

// byAddress looks at the broker behind an address and at all listeners that it names in its settings.
func (d *doctor) byAddress(ctx context.Context, addr string) {
	s, err := d.visit(ctx, addr)
	if err != nil {
		d.add(failure, addr, reason(err), reachRemedy(addr, err))
		return
	}
	d.follow(ctx, addr, s)
	entries, err := d.settings(ctx, addr, s.node)
	if err != nil {
		d.add(warning, addr, "it does not tell its settings: "+reason(err), "")
		return
	}
	values := map[string]string{}
	for _, e := range entries {
		if e.Value != nil {
			values[e.Name] = *e.Value
		}
	}
	d.others(ctx, s, values)
	for _, e := range entries {
		set := e.Source == kmsg.ConfigSourceStaticBrokerConfig || e.Source == kmsg.ConfigSourceDynamicBrokerConfig || e.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig
		if why := config.NoEffect(e.Name); set && why != "" && !slices.Contains(config.Shipped(), e.Name) {
			d.add(notable, "setting "+e.Name, "has no effect in minibroker: "+why, "")
		}
	}
}

// settings asks a broker for its settings.
func (d *doctor) settings(ctx context.Context, addr string, node int32) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	c := client.New(addr)
	defer c.Close()
	return c.Configs(ctx, client.BrokerConfig, strconv.Itoa(int(node)))
}

// others looks at the addresses that the other listeners tell their clients.
func (d *doctor) others(ctx context.Context, known seen, values map[string]string) {
	from := "advertised.listeners"
	if values[from] == "" {
		from = "listeners"
	}
	controllers := list(values["controller.listener.names"])
	for _, l := range list(values[from]) {
		a, err := parseAddress(from, l, "")
		if err != nil || slices.Contains(controllers, a.name) {
			continue
		}
		told := net.JoinHostPort(a.host, a.port)
		if a.host == "" || a.port == "0" || told == known.told {
			continue
		}
		about := "listener " + a.name + ", which tells clients " + told
		s, err := d.visit(ctx, told)
		switch {
		case err != nil: // its clients may well be somewhere else
			d.add(warning, about, "cannot be reached from here: "+reason(err), reachRemedy(told, err)+"; fine if its clients run elsewhere, in containers for example")
		case s.cluster != known.cluster || s.node != known.node:
			d.add(failure, about, fmt.Sprintf("node %d of cluster %s answers there, this is node %d of cluster %s", s.node, s.cluster, known.node, known.cluster), twoBrokers)
		default:
			d.add(fine, about, fmt.Sprintf("answers in %v", s.took.Round(time.Microsecond)), "")
		}
	}
}

const twoBrokers = "advertise an address of this broker: each broker needs its own port in advertised.listeners"

// follow goes where a client would be sent.
func (d *doctor) follow(ctx context.Context, about string, s seen) {
	if s.told == "" {
		d.add(failure, about, "answers, but names no broker", "see the broker's log")
		return
	}
	says := fmt.Sprintf("answers as node %d of cluster %s and tells clients %s", s.node, s.cluster, s.told)
	there, err := d.visit(ctx, s.told)
	switch {
	case err != nil:
		d.add(failure, about, says+", which cannot be reached from here: "+reason(err),
			"advertise a name and port that clients reach: advertised.listeners, KAFKA_ADVERTISED_LISTENERS or --advertise; "+reachRemedy(s.told, err))
	case there.cluster != s.cluster || there.node != s.node:
		d.add(failure, about, says+fmt.Sprintf(", where node %d of cluster %s answers", there.node, there.cluster), twoBrokers)
	default:
		d.add(fine, about, says+fmt.Sprintf(", which answers in %v", there.took.Round(time.Microsecond)), "")
	}
}

// reachRemedy is what to do when an address cannot be reached.
func reachRemedy(addr string, err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		host, _, _ := net.SplitHostPort(addr)
		return fmt.Sprintf("make the name %s known here (DNS, /etc/hosts, the container's network), or use another address", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the broker, or use the address of one of its listeners; in a container, publish the port"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "nothing answers in time: look for a firewall, a wrong host, or a listener of TLS or SASL"
	case errors.Is(err, client.ErrNoBroker):
		return "another program has this port: use the port of a Kafka listener"
	}
	return "something is there that closes the connection: a listener of TLS or SASL, or another program than a broker"
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
