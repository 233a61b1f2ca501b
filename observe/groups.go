package observe

import (
	"slices"

	"minibroker"
)

// groupSeries are how far groups have read, under the names of kafka-exporter, and how many there are.
type groupSeries struct {
	current, lag, currentSum, lagSum, members series
	count, offsets                            series
	states                                    []stateSeries
}

// stateSeries counts the groups in one state.
type stateSeries struct {
	state string
	count series
}

func newGroupSeries() groupSeries {
	per, sum := []string{"consumergroup", "topic", "partition"}, []string{"consumergroup", "topic"}
	const manager = "kafka_coordinator_group_groupmetadatamanager_"
	g := groupSeries{
		current:    gauge("kafka_consumergroup_current_offset", "Offset that the group has committed.", per...),
		lag:        gauge("kafka_consumergroup_lag", "Records between the committed offset and the end, -1 when that is not known.", per...),
		currentSum: gauge("kafka_consumergroup_current_offset_sum", "Offsets that the group has committed, of all partitions together.", sum...),
		lagSum:     gauge("kafka_consumergroup_lag_sum", "Lag of all partitions together.", sum...),
		members:    gauge("kafka_consumergroup_members", "Members of the group.", "consumergroup"),
		count:      gauge(manager+"numgroups", "Groups."),
		offsets:    gauge(manager+"numoffsets", "Committed offsets."),
	}
	for state, name := range map[string]string{"PreparingRebalance": "numgroupspreparingrebalance", "CompletingRebalance": "numgroupscompletingrebalance",
		"Stable": "numgroupsstable", "Dead": "numgroupsdead", "Empty": "numgroupsempty"} {
		g.states = append(g.states, stateSeries{state, gauge(manager+name, "Groups in the state "+state+".")})
	}
	return g
}

func (g *groupSeries) collect(out *scrape, s *minibroker.Stats) {
	offsets, states := 0, map[string]int{}
	for i := range s.Groups {
		group := &s.Groups[i]
		offsets += len(group.Offsets)
		states[group.State]++
		out.put(&g.members, float64(group.Members), group.ID)
		g.group(out, group)
	}
	out.put(&g.count, float64(len(s.Groups)))
	out.put(&g.offsets, float64(offsets))
	for i := range g.states {
		out.put(&g.states[i].count, float64(states[g.states[i].state]))
	}
}

func (g *groupSeries) group(out *scrape, group *minibroker.GroupStats) {
	type sums struct{ offset, lag int64 }
	byTopic := map[string]sums{}
	var order []string
	for i := range group.Offsets {
		o := &group.Offsets[i]
		out.put(&g.current, float64(o.Offset), group.ID, o.Topic, itoa(o.Partition))
		out.put(&g.lag, float64(o.Lag), group.ID, o.Topic, itoa(o.Partition))
		sum := byTopic[o.Topic]
		sum.offset += o.Offset
		sum.lag += max(o.Lag, 0)
		byTopic[o.Topic] = sum
		if !slices.Contains(order, o.Topic) {
			order = append(order, o.Topic)
		}
	}
	for _, topic := range order {
		out.put(&g.currentSum, float64(byTopic[topic].offset), group.ID, topic)
		out.put(&g.lagSum, float64(byTopic[topic].lag), group.ID, topic)
	}
}
