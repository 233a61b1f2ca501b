package observe

import "minibroker"

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
	}
	g.partitions(out, &g.current, s.Groups, func(o *minibroker.OffsetStats) int64 { return o.Offset })
	g.partitions(out, &g.lag, s.Groups, func(o *minibroker.OffsetStats) int64 { return o.Lag })
	g.topics(out, &g.currentSum, s.Groups, func(o *minibroker.OffsetStats) int64 { return o.Offset })
	g.topics(out, &g.lagSum, s.Groups, func(o *minibroker.OffsetStats) int64 { return max(o.Lag, 0) })
	out.put(&g.count, float64(len(s.Groups)))
	out.put(&g.offsets, float64(offsets))
	for i := range g.states {
		out.put(&g.states[i].count, float64(states[g.states[i].state]))
	}
}

// partitions writes a series of all offsets that groups have committed.
func (g *groupSeries) partitions(out *scrape, to *series, groups []minibroker.GroupStats, of func(*minibroker.OffsetStats) int64) {
	for i := range groups {
		group := &groups[i]
		for j := range group.Offsets {
			o := &group.Offsets[j]
			out.put(to, float64(of(o)), group.ID, o.Topic, itoa(o.Partition))
		}
	}
}

// topics writes a series of the sums over each topic's partitions, which stand together.
func (g *groupSeries) topics(out *scrape, to *series, groups []minibroker.GroupStats, of func(*minibroker.OffsetStats) int64) {
	for i := range groups {
		group := &groups[i]
		for rest := group.Offsets; len(rest) > 0; {
			topic, sum := rest[0].Topic, int64(0)
			for len(rest) > 0 && rest[0].Topic == topic {
				sum += of(&rest[0])
				rest = rest[1:]
			}
			out.put(to, float64(sum), group.ID, topic)
		}
	}
}
