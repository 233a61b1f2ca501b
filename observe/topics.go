package observe

import (
	"strconv"

	"minibroker"
)

// topicSeries are what is known of each partition, under the names of Kafka's Log and Partition metrics and of kafka-exporter, and
// what is counted over them.
type topicSeries struct {
	size, start, end, segments                             series // kafka_log_log
	atMinISR, underMinISR, inSync, replicas, under, lsoLag series // kafka_cluster_partition

	partitions, current, oldest, leader, preferred, expReplicas, expInSync, expUnder series // kafka-exporter

	partitionCount, leaderCount, offlineReplicas, underReplicated, underMin, atMin series // ReplicaManager
	topicCount, globalPartitions, offlinePartitions, imbalance                     series // KafkaController
}

func newTopicSeries() topicSeries {
	per := []string{"topic", "partition"}
	return topicSeries{
		size:     gauge("kafka_log_log_size", "Bytes of the partition's segments.", per...),
		start:    gauge("kafka_log_log_logstartoffset", "First offset that can be read.", per...),
		end:      gauge("kafka_log_log_logendoffset", "Offset that the next record gets.", per...),
		segments: gauge("kafka_log_log_numlogsegments", "Segments of the partition.", per...),

		atMinISR:    gauge("kafka_cluster_partition_atminisr", "1 when as many replicas are in sync as have to be.", per...),
		underMinISR: gauge("kafka_cluster_partition_underminisr", "1 when fewer replicas are in sync than have to be.", per...),
		inSync:      gauge("kafka_cluster_partition_insyncreplicascount", "Replicas that are in sync.", per...),
		replicas:    gauge("kafka_cluster_partition_replicascount", "Replicas.", per...),
		under:       gauge("kafka_cluster_partition_underreplicated", "1 when a replica is not in sync.", per...),
		lsoLag:      gauge("kafka_cluster_partition_laststableoffsetlag", "Offsets between the last stable one and the high watermark.", per...),

		partitions:  gauge("kafka_topic_partitions", "Partitions of the topic.", "topic"),
		current:     gauge("kafka_topic_partition_current_offset", "Offset that the next record gets, as consumers see it.", per...),
		oldest:      gauge("kafka_topic_partition_oldest_offset", "First offset that can be read.", per...),
		leader:      gauge("kafka_topic_partition_leader", "Node that leads the partition, -1 when none does.", per...),
		preferred:   gauge("kafka_topic_partition_leader_is_preferred", "1 when the first replica leads.", per...),
		expReplicas: gauge("kafka_topic_partition_replicas", "Replicas.", per...),
		expInSync:   gauge("kafka_topic_partition_in_sync_replica", "Replicas that are in sync.", per...),
		expUnder:    gauge("kafka_topic_partition_under_replicated_partition", "1 when a replica is not in sync.", per...),

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
}

// totals are counted over partitions.
type totals struct{ all, served, offline, leaderless, under, underMin, atMin, imbalance int }

func (t *topicSeries) collect(out *scrape, s *minibroker.Stats) {
	var n totals
	for i := range s.Topics {
		topic := &s.Topics[i]
		out.put(&t.partitions, float64(len(topic.Partitions)), topic.Name)
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			n.add(p, s.NodeID)
			t.partition(out, topic.Name, p)
		}
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

func btoi(b bool) int { return int(one(b)) }

func (t *topicSeries) partition(out *scrape, topic string, p *minibroker.PartitionStats) {
	id := strconv.Itoa(int(p.ID))
	put := func(to *series, value int64) { out.put(to, float64(value), topic, id) }
	put(&t.leader, int64(p.Leader))
	put(&t.preferred, int64(btoi(p.Preferred)))
	put(&t.expReplicas, int64(p.Replicas))
	put(&t.expInSync, int64(p.InSync))
	put(&t.expUnder, int64(btoi(p.InSync < p.Replicas)))
	if !p.Served {
		return
	}
	put(&t.current, p.HighWatermark)
	put(&t.oldest, p.StartOffset)
	put(&t.size, p.SizeBytes)
	put(&t.start, p.StartOffset)
	put(&t.end, p.EndOffset)
	put(&t.segments, int64(p.Segments))
	put(&t.atMinISR, int64(btoi(p.InSync == p.MinInSync)))
	put(&t.underMinISR, int64(btoi(p.InSync < p.MinInSync)))
	put(&t.inSync, int64(p.InSync))
	put(&t.replicas, int64(p.Replicas))
	put(&t.under, int64(btoi(p.InSync < p.Replicas)))
	put(&t.lsoLag, p.HighWatermark-p.LastStableOffset)
}
