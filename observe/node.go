package observe

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"minibroker"
)

// networkProcessor is the label of what Kafka has one of per network thread.
const networkProcessor = "0"

// nodeSeries are of the node as a whole.
type nodeSeries struct {
	state, active, activeBrokers, fencedBrokers, unclean, offlineDirs series
	networkIdle, handlerIdle                                          series
	connections, created, createdRate, closed                         series
	diskRead, diskWritten                                             series
	raftState, raftLeader, raftVote, raftEpoch, raftEnd, raftMark     series
	raftAppends                                                       series
	brokers, brokerInfo                                               series
	pushers, pushed, pushedBytes, pushRefused                         series
}

func newNodeSeries() nodeSeries {
	const socket, controller, raft = "kafka_server_socket_server_metrics_", "kafka_controller_kafkacontroller_", "kafka_server_raftmetrics_"
	per := []string{"listener", "networkProcessor"}
	return nodeSeries{
		state:         gauge("kafka_server_kafkaserver_brokerstate", "State of the broker: 3 is running."),
		active:        gauge(controller+"activecontrollercount", "1: this node is the active controller."),
		activeBrokers: gauge(controller+"activebrokercount", "Brokers that are up."),
		fencedBrokers: gauge(controller+"fencedbrokercount", "Brokers that are down."),
		unclean:       counter("kafka_controller_controllerstats_uncleanleaderelections_total", "Partitions that got a leader which was not in sync."),
		offlineDirs:   gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log dirs that failed."),
		networkIdle: gauge("kafka_network_socketserver_networkprocessoravgidle_percent",
			"Part of num.network.threads threads that was not busy sending, 0 to 1, since the scrape before."),
		handlerIdle: gauge("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
			"Part of num.io.threads threads that was not busy with requests, 0 to 1, since the scrape before."),
		connections: gauge(socket+"connection_count", "Open connections.", per...),
		created:     counter(socket+"connection_creation_total", "Connections that were opened.", per...),
		createdRate: gauge(socket+"connection_creation_rate", "Connections that were opened per second, since the scrape before.", per...),
		closed:      counter(socket+"connection_close_total", "Connections that were closed.", per...),
		diskRead:    gauge("kafka_server_kafkaserver_linux_disk_read_bytes", "Bytes that the process had read from disks."),
		diskWritten: gauge("kafka_server_kafkaserver_linux_disk_write_bytes", "Bytes that the process had written to disks."),
		raftState:   untyped(raft+"current_state", "1: the state of this node in the metadata quorum.", "current_state"),
		raftLeader:  gauge(raft+"current_leader", "Leader of the metadata quorum."),
		raftVote:    gauge(raft+"current_vote", "Node that this one voted for."),
		raftEpoch:   gauge(raft+"current_epoch", "Epoch of the leader of the metadata quorum."),
		raftEnd:     gauge(raft+"log_end_offset", "Offset that the next metadata record gets."),
		raftMark:    gauge(raft+"high_watermark", "Offset up to which metadata records are committed."),
		raftAppends: gauge(raft+"append_records_rate", "Metadata records per second, since the scrape before."),
		pushers:     gauge("minibroker_telemetry_clients", "Clients that asked which of their metrics to push, and are remembered."),
		pushed:      counter("minibroker_telemetry_pushes_total", "Pushes of clients' metrics that were accepted."),
		pushedBytes: counter("minibroker_telemetry_bytes_total", "Bytes of the metrics that clients pushed, as they came."),
		pushRefused: counter("minibroker_telemetry_refused_total", "Pushes of clients' metrics that were refused."),
		brokers:     gauge("kafka_brokers", "Brokers of the cluster."),
		brokerInfo:  gauge("kafka_broker_info", "1: a broker of the cluster.", "id", "address"),
	}
}

func (n *nodeSeries) collect(out *scrape, s *minibroker.Stats, last, now *moment) {
	out.put(&n.state, float64(s.BrokerState))
	out.put(&n.active, 1)
	out.put(&n.activeBrokers, 1)
	out.put(&n.fencedBrokers, 0)
	out.put(&n.unclean, float64(s.UncleanElections))
	out.put(&n.offlineDirs, float64(s.OfflineDirs))
	out.put(&n.pushers, float64(s.Telemetry.Clients))
	out.put(&n.pushed, float64(s.Telemetry.Accepted))
	out.put(&n.pushedBytes, float64(s.Telemetry.Bytes))
	out.put(&n.pushRefused, float64(s.Telemetry.Refused))
	elapsed := now.at.Sub(last.at)
	out.put(&n.networkIdle, idle(now.sending-last.sending, elapsed, s.NetworkThreads))
	out.put(&n.handlerIdle, idle(now.busy-last.busy, elapsed, s.HandlerThreads))
	for _, l := range s.Connections {
		out.put(&n.connections, float64(l.Open), l.Listener, networkProcessor)
		out.put(&n.created, float64(l.Accepted), l.Listener, networkProcessor)
		out.put(&n.closed, float64(l.Accepted-int64(l.Open)), l.Listener, networkProcessor)
		out.put(&n.createdRate, perSecond(max(0, l.Accepted-last.accepted[l.Listener]), elapsed), l.Listener, networkProcessor)
	}
	if read, written, ok := diskBytes(); ok {
		out.put(&n.diskRead, read)
		out.put(&n.diskWritten, written)
	}
	node := itoa(s.NodeID)
	out.put(&n.raftState, 1, "leader")
	out.put(&n.raftLeader, float64(s.NodeID))
	out.put(&n.raftVote, float64(s.NodeID))
	out.put(&n.raftEpoch, float64(s.LeaderEpoch))
	out.put(&n.raftEnd, float64(s.MetadataEnd))
	out.put(&n.raftMark, float64(s.MetadataEnd))
	appends := 0.0
	if last.metadataEnd > 0 {
		appends = perSecond(s.MetadataEnd-last.metadataEnd, elapsed)
	}
	out.put(&n.raftAppends, appends)
	out.put(&n.brokers, 1)
	out.put(&n.brokerInfo, 1, node, s.Address)
}

// idle is the part of so many threads' time in which nothing was done. There are no such threads here: a connection is served by
// its own goroutine, and more can be busy than that.
func idle(busy, elapsed time.Duration, threads int) float64 {
	if elapsed <= 0 || threads <= 0 {
		return 1
	}
	return max(0, 1-busy.Seconds()/(elapsed.Seconds()*float64(threads)))
}

func perSecond(n int64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(n) / elapsed.Seconds()
}

// diskBytes reads what Linux tells of a process' disk traffic; not ok where it tells nothing.
func diskBytes() (read, written float64, ok bool) {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, 0, false
	}
	found := 0
	for line := range bytes.Lines(data) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		number, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			continue
		}
		switch string(name) {
		case "read_bytes":
			read = number
			found++
		case "write_bytes":
			written = number
			found++
		}
	}
	return read, written, found == 2
}
