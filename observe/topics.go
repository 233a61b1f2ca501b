package observe

import "minibroker"

// topicSeries are what is known of each partition, under the names of Kafka's Log and Partition metrics and of kafka-exporter, and
// what is counted over them.
type topicSeries struct {
	each       []partitionSeries
	partitions series // kafka-exporter

	partitionCount, leaderCount, offlineReplicas, underReplicated, underMin, atMin series // ReplicaManager
	topicCount, globalPartitions, offlinePartitions, imbalance                     series // KafkaController
}

// partitionSeries is one thing that is known of each partition.
type partitionSeries struct {
	series
	always bool // of partitions that are not served as well
	of     func(*minibroker.PartitionStats) int64
}

func newTopicSeries() topicSeries {
	t := topicSeries{
		partitions: gauge("kafka_topic_partitions", "Partitions of the topic.", "topic"),

		partitionCount:  gauge("kafka_server_replicamanager_partitioncount", "Partitions on this node."),
		leaderCount:     gauge("kafka_server_replicamanager_leadercount", "Partitions that this node leads."),
		offlineReplicas: gauge("kafka_server_replicamanager_offlinereplicacount", "Partitions of this node that cannot be served."),
		underReplicated: gauge("kafka_server_replicamanager_underreplicatedpartitions", "Partitions with a replica that is not in sync."),
		underMin:        gauge("kafka_server_replicamanager_underminisrpartitioncount", "Partitions with too few replicas in sync."),
		atMin:           gauge("kafka_server_replicamanager_atminisrpartitioncount", "Partitions with just enough replicas in sync."),

		topicCount:        gauge("kafka_controller_kafkacontroller_globaltopiccount", "Topics."),
		globalPartitions:  gauge("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions of all topics."),
		offlinePartitions: gauge("kafka_controller_kafkacontroller_offlinepartitionscount", "Partitions without a leader."),
		imbalance:         gauge("kafka_controller_kafkacontroller_preferredreplicaimbalancecount", "Partitions that another than the first replica leads."),
	}
	t.addLogSeries()
	t.addReplicaSeries()
	t.addExporterSeries()
	return t
}

func (t *topicSeries) add(name, help string, of func(*minibroker.PartitionStats) int64) {
	t.each = append(t.each, partitionSeries{series: gauge(name, help, "topic", "partition"), of: of})
}

// addAlways adds what is known of partitions that are not served as well.
func (t *topicSeries) addAlways(name, help string, of func(*minibroker.PartitionStats) int64) {
	t.add(name, help, of)
	t.each[len(t.each)-1].always = true
}

func (t *topicSeries) addLogSeries() {
	type stats = minibroker.PartitionStats
	t.add("kafka_log_log_size", "Bytes of the partition's segments.", func(p *stats) int64 { return p.SizeBytes })
	t.add("kafka_log_log_logstartoffset", "First offset that can be read.", func(p *stats) int64 { return p.StartOffset })
	t.add("kafka_log_log_logendoffset", "Offset that the next record gets.", func(p *stats) int64 { return p.EndOffset })
	t.add("kafka_log_log_numlogsegments", "Segments of the partition.", func(p *stats) int64 { return int64(p.Segments) })
}

func (t *topicSeries) addReplicaSeries() {
	type stats = minibroker.PartitionStats
	const partition = "kafka_cluster_partition_"
	t.add(partition+"atminisr", "1 when as many replicas are in sync as have to be.", func(p *stats) int64 { return btoi(p.InSync == p.MinInSync) })
	t.add(partition+"underminisr", "1 when fewer replicas are in sync than have to be.", func(p *stats) int64 { return btoi(p.InSync < p.MinInSync) })
	t.add(partition+"insyncreplicascount", "Replicas that are in sync.", func(p *stats) int64 { return int64(p.InSync) })
	t.add(partition+"replicascount", "Replicas.", func(p *stats) int64 { return int64(p.Replicas) })
	t.add(partition+"underreplicated", "1 when a replica is not in sync.", func(p *stats) int64 { return btoi(p.InSync < p.Replicas) })
	t.add(partition+"laststableoffsetlag", "Offsets between the last stable one and the high watermark.",
		func(p *stats) int64 { return p.HighWatermark - p.LastStableOffset })
}

// addExporterSeries adds what kafka-exporter tells.
func (t *topicSeries) addExporterSeries() {
	type stats = minibroker.PartitionStats
	const partition = "kafka_topic_partition_"
	t.add(partition+"current_offset", "Offset that the next record gets, as consumers see it.", func(p *stats) int64 { return p.HighWatermark })
	t.add(partition+"oldest_offset", "First offset that can be read.", func(p *stats) int64 { return p.StartOffset })
	t.addAlways(partition+"leader", "Node that leads the partition, -1 when none does.", func(p *stats) int64 { return int64(p.Leader) })
	t.addAlways(partition+"leader_is_preferred", "1 when the first replica leads.", func(p *stats) int64 { return btoi(p.Preferred) })
	t.addAlways(partition+"replicas", "Replicas.", func(p *stats) int64 { return int64(p.Replicas) })
	t.addAlways(partition+"in_sync_replica", "Replicas that are in sync.", func(p *stats) int64 { return int64(p.InSync) })
	t.addAlways(partition+"under_replicated_partition", "1 when a replica is not in sync.", func(p *stats) int64 { return btoi(p.InSync < p.Replicas) })
}

// totals are counted over partitions.
type totals struct{ all, served, offline, leaderless, under, underMin, atMin, imbalance int64 }

func (t *topicSeries) collect(out *scrape, s *minibroker.Stats) {
	var n totals
	for i := range s.Topics {
		topic := &s.Topics[i]
		out.put(&t.partitions, float64(len(topic.Partitions)), topic.Name)
		for j := range topic.Partitions {
			n.add(&topic.Partitions[j], s.NodeID)
		}
	}
	ids := partitionIDs(s.Topics)
	for i := range t.each {
		t.each[i].collect(out, s, ids)
	}
	out.put(&t.partitionCount, float64(n.served+n.offline))
	out.put(&t.leaderCount, float64(n.served))
	out.put(&t.offlineReplicas, float64(n.offline))
	out.put(&t.underReplicated, float64(n.under))
	out.put(&t.underMin, float64(n.underMin))
	out.put(&t.atMin, float64(n.atMin))
	out.put(&t.topicCount, float64(len(s.Topics)))
	out.put(&t.globalPartitions, float64(n.all))
	out.put(&t.offlinePartitions, float64(n.leaderless))
	out.put(&t.imbalance, float64(n.imbalance))
}

// partitionIDs are the labels of the partitions that there are.
func partitionIDs(topics []minibroker.TopicStats) []string {
	var ids []string
	for i := range topics {
		for _, p := range topics[i].Partitions {
			for n := int32(len(ids)); n <= p.ID; n++ {
				ids = append(ids, itoa(n))
			}
		}
	}
	return ids
}

// collect writes one series of all partitions.
func (e *partitionSeries) collect(out *scrape, s *minibroker.Stats, ids []string) {
	for i := range s.Topics {
		topic := &s.Topics[i]
		for j := range topic.Partitions {
			if p := &topic.Partitions[j]; p.Served || e.always {
				out.put(&e.series, float64(e.of(p)), topic.Name, ids[p.ID])
			}
		}
	}
}

// add counts a partition. One that this node leads and does not serve lies in a log dir that failed.
func (n *totals) add(p *minibroker.PartitionStats, node int32) {
	n.all++
	switch {
	case p.Served:
		n.served++
		n.under += btoi(p.InSync < p.Replicas)
		n.underMin += btoi(p.InSync < p.MinInSync)
		n.atMin += btoi(p.InSync == p.MinInSync)
	case p.Leader < 0:
		n.leaderless++
		n.offline++
	case p.Leader == node:
		n.offline++
	}
	n.imbalance += btoi(!p.Preferred)
}

// btoi is 1 for true.
func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
