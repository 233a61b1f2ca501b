package main

import (
	"fmt"
	"strings"
)

// aim is what minibroker is to reach.
type aim struct {
	what, name, figure string
	times              float64 // better than Kafka; 0 where it is not about Kafka
	most               float64 // at most this, by itself
	limit              string  // what the machine can do at all, where that is measured
	part               float64 // or so much of that; 0 where it only stands beside it
}

func aims() []aim {
	return []aim{
		{what: "start on an empty directory", name: "start", figure: "process made to first answer", times: 400},
		{what: "idle memory", name: "idle", figure: "1 topic: RSS", times: 20},
		// 0 in the steps of 10 ms that /proc counts, over 10 s: less than a thousandth of a core.
		{what: "idle CPU, 1 topic, ms per second", name: "idle", figure: "1 topic: broker CPU per second", most: 1},
		{what: "idle CPU, 1,000 partitions, ms per second", name: "idle", figure: "1000 partitions: broker CPU per second", most: 1},
		{what: "idle CPU, 1,000 partitions and 50 idle consumers of six, ms per second", name: "idle", figure: "1000 partitions, 50 consumers of 6: broker CPU per second", most: 1, limit: answerName},
		{what: "the same with 50 idle consumers of all 1,000", name: "idle", figure: "1000 partitions, 50 consumers of 1000: broker CPU per second", most: 1, limit: answerName},
		{what: "produce, per CPU second", name: "produce", figure: "1 partition: per broker CPU second", times: 4},
		{what: "produce, 6 partitions, per CPU second", name: "produce", figure: "6 partitions: per broker CPU second", times: 4, limit: receiveSix},
		{what: "consume, 1 consumer, per CPU second", name: "consume", figure: "1 consumer: per broker CPU second", times: 5},
		{what: "consume, 4 consumers, per CPU second", name: "consume", figure: "4 consumers: per broker CPU second", times: 5, limit: sendFour},
		{what: "consume, 16 consumers, per CPU second", name: "consume", figure: "16 consumers: per broker CPU second", times: 5, limit: sendSixteen},
		{what: "small fetches, CPU of each", name: "small fetches", figure: "broker CPU per fetch", times: 5},
		{what: "synchronous produce, p99", name: "sync produce", figure: "p99", times: 5},
		{what: "synchronous produce, p99.9", name: "sync produce", figure: "p99.9", times: 5},
		{what: "end to end, p99", name: "end to end", figure: "p99", times: 5},
		{what: "end to end, p99.9", name: "end to end", figure: "p99.9", times: 5},
		{what: "creation of 1,000 topics", name: "topics", figure: "up to 1000", times: 20},
		{what: "creation of 4,000 more", name: "topics", figure: "up to 5000", times: 20},
		{what: "memory of 10,000 partitions", name: "partitions", figure: "at rest: RSS", times: 20},
		{what: "start with all topics after a clean stop", name: "topics", figure: "after a clean stop: process made to all partitions served", times: 50},
		{what: "start with all topics after kill -9", name: "topics", figure: "after kill -9: process made to all partitions served", times: 50},
		{what: "start on 1,000 partitions, 1 GiB, after a clean stop", name: "restart", figure: "after a clean stop: process made to all partitions served", times: 50},
		{what: "start on 1,000 partitions, 1 GiB, after kill -9", name: "restart", figure: "after kill -9: process made to all partitions served", times: 30},
		{what: "compaction, time", name: "compaction", figure: "until the cleaner's checkpoint names the log", times: 2},
		{what: "compaction, CPU", name: "compaction", figure: "broker CPU", times: 3},
		{what: "compaction, longest wait of a reader, ms", name: "compaction", figure: "longest wait of a reader", most: 10},
		{what: "produce beside receiving, checking and writing alone", name: "produce", figure: "1 partition: per broker CPU second", limit: receiveName, part: 0.9},
		{what: "consume beside sendfile alone", name: "consume", figure: "1 consumer: per broker CPU second", limit: sendName, part: 0.6},
	}
}

// aims writes what was aimed at and what was reached.
func (r *results) aims(b *strings.Builder) {
	rows := [][]string{{"what", "aim", "reached", "minibroker", "beside", ""}}
	for _, a := range aims() {
		own, ok := r.of(a.name, a.figure, "minibroker")
		if !ok {
			continue
		}
		aimed, reached, beside, holds := r.judge(a, own)
		mark := "no"
		if holds {
			mark = "yes"
		}
		if reached == "" {
			mark = "–"
		}
		rows = append(rows, []string{a.what, aimed, reached, show(own), beside, mark})
	}
	if len(rows) > 1 {
		b.WriteString("### What was aimed at\n\n")
		table(b, rows)
	}
}

// judge holds a figure against an aim. Without what it is compared with, nothing is reached.
func (r *results) judge(a aim, own float64) (aimed, reached, beside string, holds bool) {
	switch {
	case a.part > 0:
		aimed = fmt.Sprintf("%.0f %%", 100*a.part)
		if v, ok := r.of(limitCase, a.limit, limitPeer); ok {
			return aimed, fmt.Sprintf("%.0f %%", 100*own/v), "the machine " + show(v), own/v >= a.part
		}
	case a.times > 0:
		aimed = fmt.Sprintf("%s times", show(a.times))
		if v, ok := r.of(a.name, a.figure, "Kafka"); ok {
			times := own / v
			if r.good(a) == less {
				times = v / own
			}
			return aimed, fmt.Sprintf("%s times", show(times)), "Kafka " + show(v) + r.besideLimit(a), times >= a.times
		}
	default:
		if v, ok := r.of(a.name, a.figure, "Kafka"); ok {
			beside = "Kafka " + show(v)
		}
		return "at most " + show(a.most), show(own), beside + r.besideLimit(a), own <= a.most
	}
	return aimed, "", "", false
}

// besideLimit is what the machine can do at all, where it was measured.
func (r *results) besideLimit(a aim) string {
	if v, ok := r.of(limitCase, a.limit, limitPeer); ok {
		return ", the machine " + show(v)
	}
	return ""
}

func (r *results) good(a aim) string {
	for _, f := range r.Figures {
		if f.Case == a.name && f.Name == a.figure {
			return f.Good
		}
	}
	return data
}

// memory is the most that minibroker took in any case, without what the settings name for it: the buffers of the cleaner in
// the case that compacts.
func (r *results) memory(b *strings.Builder) {
	const allowed = 64
	rows := [][]string{{"case", "load", "peak RSS, MiB", "at most 64"}}
	for _, f := range r.Figures {
		if v, ok := r.of(f.Case, f.Name, "minibroker"); ok && strings.HasSuffix(f.Name, "peak RSS") {
			holds := "yes"
			if v > allowed {
				holds = "**no**"
			}
			rows = append(rows, []string{f.Case, strings.TrimSuffix(strings.TrimSuffix(f.Name, "peak RSS"), ": "), r.cell(f, "minibroker", ""), holds})
		}
	}
	if len(rows) > 1 {
		b.WriteString("### Memory of minibroker at its most, under each load\n\n")
		table(b, rows)
	}
}
