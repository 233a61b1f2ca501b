// Command kadm is a round through franz-go's admin client: ADDRESS, two log dirs, the time of the first record, and a pause after each call. Each call prints its name
// and what came of it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// show prints what a call returned, as JSON, which lists maps in the order of their keys, or its error.
func show(name string, result any, err error) {
	fmt.Println("==", name)
	if err != nil {
		fmt.Println("error:", err)
	}
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	var short strings.Builder
	for line := range strings.Lines(string(text)) { // what is deep inside goes into one line
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "  ") {
			short.WriteString(" " + strings.TrimSpace(line))
			continue
		}
		short.WriteString("\n" + line)
	}
	fmt.Println(short.String())
	pause()
}

// pause gives Apache Kafka time, which answers before all of it has seen a change.
func pause() {
	if ms, err := strconv.Atoi(os.Args[5]); err == nil {
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
}

// sorted puts the settings in order.
func sorted(all kadm.ResourceConfigs) kadm.ResourceConfigs {
	for _, r := range all {
		slices.SortFunc(r.Configs, func(a, b kadm.Config) int { return strings.Compare(a.Key, b.Key) })
	}
	slices.SortFunc(all, func(a, b kadm.ResourceConfig) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// round is what the calls share.
type round struct {
	ctx  context.Context
	a    *kadm.Client
	addr string
	dirs []string
	time int64 // of the first record, in milliseconds
}

func main() {
	cl, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		log.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	first, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	x := &round{ctx, kadm.NewClient(cl), os.Args[1], os.Args[2:4], first}
	x.topics()
	x.configs()
	x.records(cl)
	x.groups()
	x.logDirs()
	x.leaders()
	x.quotas()
	x.transactions(cl)
	x.security()
	deleted, err := x.a.DeleteTopics(ctx, "orders", "defaults", "missing")
	show("delete topics", deleted, err)
}

func (x *round) topics() {
	brokers, err := x.a.BrokerMetadata(x.ctx)
	show("cluster", brokers, err)
	hour := "3600000"
	created, err := x.a.CreateTopics(x.ctx, 3, 1, map[string]*string{"retention.ms": &hour}, "orders")
	show("create", created, err)
	created, err = x.a.CreateTopics(x.ctx, -1, -1, nil, "defaults", "orders", "a/b")
	show("create with defaults, again, wrongly", created, err)
	created, err = x.a.CreateTopics(x.ctx, 1, 3, nil, "three")
	show("create three replicas", created, err)
	created, err = x.a.ValidateCreateTopics(x.ctx, 2, 1, map[string]*string{"no.such": &hour}, "never")
	show("validate", created, err)
	listed, err := x.a.ListTopicsWithInternal(x.ctx)
	show("list", listed, err)
	described, err := x.a.ListTopics(x.ctx, "orders", "missing")
	show("describe", described, err)
	grown, err := x.a.CreatePartitions(x.ctx, 1, "orders", "missing")
	show("more partitions", grown, err)
	grown, err = x.a.UpdatePartitions(x.ctx, 2, "orders")
	show("fewer partitions", grown, err)
}

func (x *round) configs() {
	got, err := x.a.DescribeTopicConfigs(x.ctx, "orders", "missing")
	show("configs of topics", sorted(got), err)
	got, err = x.a.DescribeBrokerConfigs(x.ctx, 1)
	show("configs of broker", sorted(got), err)
	got, err = x.a.DescribeBrokerConfigs(x.ctx)
	show("configs of all brokers", sorted(got), err)
	value := func(s string) *string { return &s }
	for _, how := range []struct {
		name string
		kadm.AlterConfig
	}{
		{"set", kadm.AlterConfig{Op: kadm.SetConfig, Name: "max.message.bytes", Value: value("2000000")}},
		{"append", kadm.AlterConfig{Op: kadm.AppendConfig, Name: "cleanup.policy", Value: value("compact")}},
		{"subtract", kadm.AlterConfig{Op: kadm.SubtractConfig, Name: "cleanup.policy", Value: value("delete")}},
		{"delete", kadm.AlterConfig{Op: kadm.DeleteConfig, Name: "retention.ms"}},
		{"set unknown", kadm.AlterConfig{Op: kadm.SetConfig, Name: "no.such", Value: value("1")}},
		{"set invalid", kadm.AlterConfig{Op: kadm.SetConfig, Name: "cleanup.policy", Value: value("shred")}},
	} {
		altered, err := x.a.AlterTopicConfigs(x.ctx, []kadm.AlterConfig{how.AlterConfig}, "orders", "missing")
		show(how.name, altered, err)
	}
	altered, err := x.a.AlterTopicConfigsState(x.ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: value("5000000")}}, "defaults")
	show("alter the old way", altered, err)
	altered, err = x.a.AlterBrokerConfigs(x.ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "log.cleaner.threads", Value: value("2")}}, 1)
	show("set of broker", altered, err)
	altered, err = x.a.ValidateAlterBrokerConfigs(x.ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "node.id", Value: value("2")}}, 1)
	show("set static of broker", altered, err)
	altered, err = x.a.AlterBrokerConfigs(x.ctx, []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "log.cleaner.threads"}}, 1)
	show("delete of broker", altered, err)
	got, err = x.a.DescribeTopicConfigs(x.ctx, "orders", "defaults")
	show("configs of topics then", sorted(got), err)
	altered, err = x.a.AlterTopicConfigsState(x.ctx, []kadm.AlterConfig{{Name: "no.such", Value: value("1")}}, "defaults")
	show("alter the old way wrongly", altered, err)
	altered, err = x.a.ValidateAlterTopicConfigsState(x.ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: value("1")}}, "defaults", "missing")
	show("validate the old way", altered, err)
	altered, err = x.a.AlterBrokerConfigs(x.ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "log.retention.ms", Value: value("7200000")}})
	show("set of all brokers", altered, err)
	altered, err = x.a.AlterBrokerConfigsState(x.ctx, []kadm.AlterConfig{{Name: "log.cleaner.threads", Value: value("3")}}, 1)
	show("alter broker the old way", altered, err)
	got, err = x.a.DescribeBrokerConfigs(x.ctx)
	show("configs of all brokers then", sorted(got), err)
	altered, err = x.a.AlterBrokerConfigsState(x.ctx, nil, 1)
	show("alter broker to nothing", altered, err)
	altered, err = x.a.AlterBrokerConfigs(x.ctx, []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "log.retention.ms"}})
	show("delete of all brokers", altered, err)
	resources, err := x.a.ListConfigResources(x.ctx)
	show("resources", resources.Sorted(), err)
}

func (x *round) records(cl *kgo.Client) {
	for n := range 10 {
		r := &kgo.Record{Topic: "orders", Key: fmt.Append(nil, n), Value: fmt.Append(nil, n), Timestamp: time.UnixMilli(x.time + int64(n*7%10)*1000)}
		if err := cl.ProduceSync(x.ctx, r).FirstErr(); err != nil {
			log.Fatal(err)
		}
	}
	offsets, err := x.a.ListStartOffsets(x.ctx, "orders", "missing")
	show("earliest", offsets, err)
	offsets, err = x.a.ListEndOffsets(x.ctx, "orders")
	show("latest", offsets, err)
	offsets, err = x.a.ListCommittedOffsets(x.ctx, "orders")
	show("committed", offsets, err)
	offsets, err = x.a.ListMaxTimestampOffsets(x.ctx, "orders")
	show("of the newest", offsets, err)
	offsets, err = x.a.ListOffsetsAfterMilli(x.ctx, x.time+5000, "orders")
	show("of a time", offsets, err)
	offsets, err = x.a.ListLocalLogStartOffsets(x.ctx, "orders")
	show("earliest local", offsets, err)
	offsets, err = x.a.ListLatestRemoteOffsets(x.ctx, "orders")
	show("latest remote", offsets, err)
	var before kadm.Offsets
	before.AddOffset("orders", 0, 3, -1)
	before.AddOffset("orders", 1, 99, -1)
	deleted, err := x.a.DeleteRecords(x.ctx, before)
	show("delete records, and too many", deleted, err)
	var epochs kadm.OffsetForLeaderEpochRequest
	epochs.Add("orders", 0, 0)
	ends, err := x.a.OffsetForLeaderEpoch(x.ctx, epochs)
	show("end of epoch", ends, err)
}

func (x *round) groups() {
	var offsets kadm.Offsets
	offsets.AddOffset("orders", 0, 5, -1)
	for ready := false; !ready && x.ctx.Err() == nil; { // the first request for a coordinator has its topic made
		found, err := x.a.FetchOffsets(x.ctx, "reset")
		ready = err == nil && found.Error() == nil
	}
	set, err := x.a.CommitOffsets(x.ctx, "reset", offsets)
	show("set offsets of new group", set, err)
	fetched, err := x.a.FetchOffsets(x.ctx, "reset")
	show("offsets", fetched, err)
	fetched, err = x.a.FetchOffsets(x.ctx, "missing")
	show("offsets of unknown group", fetched, err)
	cl, err := kgo.NewClient(kgo.SeedBrokers(x.addr), kgo.ConsumerGroup("of-kgo"), kgo.ConsumeTopics("orders"), kgo.ClientID("member"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	defer cl.Close()
	read := cl.PollFetches(x.ctx)
	if err := cl.CommitRecords(x.ctx, read.Records()...); err != nil {
		log.Fatal(err)
	}
	described, err := x.a.DescribeGroups(x.ctx, "of-kgo", "reset", "missing")
	show("describe groups", described, err)
	lag, err := x.a.Lag(x.ctx, "of-kgo", "reset")
	show("lag", lag, err)
	consumers, err := x.a.DescribeConsumerGroups(x.ctx, "of-kgo", "missing")
	show("describe consumer groups", consumers, err)
	listed, err := x.a.ListGroups(x.ctx)
	show("groups", listed, err)
	set, err = x.a.CommitOffsets(x.ctx, "of-kgo", offsets)
	show("set offsets of members", set, err)
	gone, err := x.a.DeleteGroups(x.ctx, "of-kgo", "reset", "missing")
	show("delete groups", gone, err)
	var which kadm.TopicsSet
	which.Add("orders", 0)
	cleared, err := x.a.DeleteOffsets(x.ctx, "of-kgo", which)
	show("delete offsets of members", cleared, err)
	listed, err = x.a.ListGroups(x.ctx, "Empty")
	show("empty groups", listed, err)
	listed, err = x.a.ListGroupsByType(x.ctx, []string{"consumer"})
	show("groups of the new protocol", listed, err)
	many := x.a.FetchManyOffsets(x.ctx, "of-kgo", "missing")
	show("offsets of several groups", many, nil)
	found := x.a.FindGroupCoordinators(x.ctx, "of-kgo", "missing")
	show("coordinators", found, nil)
	left, err := x.a.LeaveGroup(x.ctx, kadm.LeaveGroup("of-kgo").InstanceIDs("nobody"))
	show("remove unknown member", left, err)
}

func (x *round) logDirs() {
	for _, dir := range append(x.dirs, "/no/such/dir") {
		var to kadm.AlterReplicaLogDirsReq
		for topic, count := range map[string]int32{"orders": 4, "defaults": 2} { // defaults has one
			for p := range count {
				var which kadm.TopicsSet
				which.Add(topic, p)
				to.Add(dir, which)
			}
		}
		moved, err := x.a.AlterBrokerReplicaLogDirs(x.ctx, 1, to)
		show("move", moved, err)
		for moving := true; moving && x.ctx.Err() == nil; {
			moving = false
			dirs, err := x.a.DescribeBrokerLogDirs(x.ctx, 1, nil)
			dirs.Each(func(d kadm.DescribedLogDir) {
				d.Topics.Each(func(p kadm.DescribedLogDirPartition) { moving = moving || p.IsFuture || err != nil })
			})
		}
	}
	dirs, err := x.a.DescribeBrokerLogDirs(x.ctx, 1, nil)
	show("log dirs", nil, err)
	for _, dir := range dirs.Sorted() {
		topics := []string{}
		dir.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if p.Topic == "orders" || p.Topic == "defaults" {
				topics = append(topics, fmt.Sprint(p.Topic, " ", p.Partition, ": ", p.Size, " ", p.OffsetLag, " ", p.IsFuture))
			}
		})
		slices.Sort(topics)
		fmt.Println(dir.Dir, dir.Err, topics)
	}
	var some kadm.TopicsSet
	some.Add("orders", 0)
	for _, dir := range x.described(some) {
		fmt.Println(dir)
	}
}

// described are the log dirs that hold some partitions, in order.
func (x *round) described(which kadm.TopicsSet) (lines []string) {
	dirs, err := x.a.DescribeAllLogDirs(x.ctx, which)
	show("log dirs of some", nil, err)
	for _, of := range dirs {
		of.Each(func(d kadm.DescribedLogDir) {
			d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
				lines = append(lines, fmt.Sprint(p.Dir, " ", p.Topic, " ", p.Partition))
			})
		})
	}
	slices.Sort(lines)
	return lines
}

func (x *round) leaders() {
	var set kadm.TopicsSet
	set.Add("orders", 0)
	set.Add("missing", 0)
	elected, err := x.a.ElectLeaders(x.ctx, kadm.ElectPreferredReplica, set)
	show("elect", elected, err)
	elected, err = x.a.ElectLeaders(x.ctx, kadm.ElectLiveReplica, set)
	show("elect unclean", elected, err)
	elected, err = x.a.ElectLeaders(x.ctx, kadm.ElectPreferredReplica, nil)
	show("elect all", elected, err)
	var to kadm.AlterPartitionAssignmentsReq
	to.Assign("orders", 0, []int32{1})
	to.Assign("orders", 1, []int32{9})
	to.CancelAssign("orders", 2)
	to.Assign("missing", 0, []int32{1})
	assigned, err := x.a.AlterPartitionAssignments(x.ctx, to)
	show("reassign, and to unknown", assigned, err)
	moving, err := x.a.ListPartitionReassignments(x.ctx, nil)
	show("reassignments", moving, err)
}

// quota is a change of one limit.
func quota(kind string, name *string, key string, value float64, remove bool) []kadm.AlterClientQuotaEntry {
	return []kadm.AlterClientQuotaEntry{{Entity: kadm.ClientQuotaEntity{{Type: kind, Name: name}}, Ops: []kadm.AlterClientQuotaOp{{Key: key, Value: value, Remove: remove}}}}
}

func (x *round) quotas() {
	user, address := "someone", "192.0.2.7"
	for _, of := range []struct {
		name    string
		entries []kadm.AlterClientQuotaEntry
	}{
		{"set quota", quota("user", &user, "producer_byte_rate", 1024, false)},
		{"set quota of everybody", quota("client-id", nil, "consumer_byte_rate", 2048, false)},
		{"set quota of address", quota("ip", &address, "connection_creation_rate", 5, false)},
		{"set unknown quota", quota("user", &user, "no_rate", 1024, false)},
		{"set quota of unknown kind", quota("planet", &user, "producer_byte_rate", 1024, false)},
		{"remove quota not there", quota("user", &address, "producer_byte_rate", 0, true)},
	} {
		altered, err := x.a.AlterClientQuotas(x.ctx, of.entries)
		show(of.name, altered, err)
	}
	validated, err := x.a.ValidateAlterClientQuotas(x.ctx, quota("user", &user, "request_percentage", -5, false))
	show("validate quota", validated, err)
	for _, kind := range []string{"user", "client-id", "ip", "planet"} {
		for _, strict := range []bool{false, true} {
			found, err := x.a.DescribeClientQuotas(x.ctx, strict, []kadm.DescribeClientQuotaComponent{{Type: kind, MatchType: kmsg.QuotasMatchTypeAny}})
			show(fmt.Sprint("quotas of ", kind, " alone: ", strict), found, err)
		}
	}
	removed, err := x.a.AlterClientQuotas(x.ctx, quota("user", &user, "producer_byte_rate", 0, true))
	show("remove quota", removed, err)
}

func (x *round) transactions(cl *kgo.Client) {
	seller, err := kgo.NewClient(kgo.SeedBrokers(x.addr), kgo.TransactionalID("seller"), kgo.TransactionTimeout(50*time.Second), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		log.Fatal(err)
	}
	defer seller.Close()
	if err := seller.BeginTransaction(); err != nil {
		log.Fatal(err)
	}
	if err := seller.ProduceSync(x.ctx, &kgo.Record{Topic: "orders", Partition: 1, Key: []byte("k"), Value: []byte("v")}).FirstErr(); err != nil {
		log.Fatal(err)
	}
	listed, err := x.a.ListTransactions(x.ctx, nil, nil)
	show("transactions", listed, err)
	listed, err = x.a.ListTransactions(x.ctx, []int64{999999}, nil)
	show("transactions of unknown producer", listed, err)
	listed, err = x.a.ListTransactions(x.ctx, nil, []string{"Ongoing", "NoState"})
	show("transactions by state", listed, err)
	listed, err = x.a.ListTransactionsByTxPattern(x.ctx, nil, nil, "s.*")
	show("transactions by pattern", listed, err)
	listed, err = x.a.ListTransactionsByTxPattern(x.ctx, nil, nil, "[")
	show("transactions by wrong pattern", listed, err)
	described, err := x.a.DescribeTransactions(x.ctx, "seller", "missing")
	for id, d := range described {
		d.StartTimestamp = min(d.StartTimestamp, 1)
		described[id] = d
	}
	show("describe transactions", described, err)
	found := x.a.FindTxnCoordinators(x.ctx, "seller")
	show("coordinators of transactions", found, nil)
	var which kadm.TopicsSet
	which.Add("orders", 0, 1)
	for _, when := range []string{"during", "after the abort of"} {
		producers, err := x.a.DescribeProducers(x.ctx, which)
		show("producers "+when+" a transaction", len(producers), err)
		markers := x.producers(producers)
		if markers == nil {
			continue
		}
		written, err := x.a.WriteTxnMarkers(x.ctx, *markers)
		show("write marker", written, err)
	}
	if err := seller.EndTransaction(x.ctx, kgo.TryAbort); err != nil {
		log.Fatal(err)
	}
}

// producers prints producers and returns the marker that aborts the transaction of one.
func (x *round) producers(all kadm.DescribedProducersTopics) (markers *kadm.TxnMarkers) {
	for _, t := range all.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			fmt.Println(t.Topic, p.Partition, p.Err)
			for _, a := range p.ActiveProducers.Sorted() {
				fmt.Println("  epoch", a.ProducerEpoch, "sequence", a.LastSequence, "coordinator", a.CoordinatorEpoch, "since", a.CurrentTxnStartOffset)
				if a.CurrentTxnStartOffset >= 0 {
					var where kadm.TopicsSet
					where.Add(t.Topic, p.Partition)
					markers = &kadm.TxnMarkers{ProducerID: a.ProducerID, ProducerEpoch: a.ProducerEpoch, Topics: where}
				}
			}
		}
	}
	return markers
}

func (x *round) security() {
	versions, err := x.a.ApiVersions(x.ctx)
	show("versions", len(versions), err)
	for _, feature := range []kadm.FeatureUpdate{{Feature: "no.such", MaxVersionLevel: 1}, {Feature: "group.version", MaxVersionLevel: 99}, {Feature: "group.version", MaxVersionLevel: 0, UpgradeType: 2}} {
		updated, err := x.a.UpdateFeatures(x.ctx, true, feature)
		show("validate feature", updated, err)
	}
	everything := kadm.NewACLs().AnyResource().Allow().AllowHosts().Deny().DenyHosts().Operations(kadm.OpAny).ResourcePatternType(kadm.ACLPatternAny)
	acls, err := x.a.DescribeACLs(x.ctx, everything)
	show("acls", acls, err)
	created, err := x.a.CreateACLs(x.ctx, kadm.NewACLs().Topics("orders").Allow("User:someone").AllowHosts("*").Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral))
	show("create acl", created, err)
	gone, err := x.a.DeleteACLs(x.ctx, everything)
	show("delete acls", gone, err)
	made, err := x.a.CreateDelegationToken(x.ctx, kadm.CreateDelegationToken{})
	show("create delegation token", made.TokenID, err)
	_, err = x.a.RenewDelegationToken(x.ctx, []byte{1}, time.Hour)
	show("renew delegation token", nil, err)
	_, err = x.a.ExpireDelegationToken(x.ctx, []byte{1}, time.Hour)
	show("expire delegation token", nil, err)
	tokens, err := x.a.DescribeDelegationTokens(x.ctx)
	show("delegation tokens", tokens, err)
	set, err := x.a.AlterUserSCRAMs(x.ctx, nil, []kadm.UpsertSCRAM{{User: "someone", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "secret"}})
	show("set credentials", set, err)
	credentials, err := x.a.DescribeUserSCRAMs(x.ctx, "someone", "nobody")
	show("credentials", credentials, err)
	set, err = x.a.AlterUserSCRAMs(x.ctx, []kadm.DeleteSCRAM{{User: "someone", Mechanism: kadm.ScramSha256}, {User: "nobody", Mechanism: kadm.ScramSha256}}, nil)
	show("delete credentials", set, err)
}
