// Command sarama is a round through Sarama's ClusterAdmin: ADDRESS, two log dirs, the time of the first record, and a pause after each call. Each call prints its name and what came of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// show prints what a call returned, or its error. fmt prints maps in the order of their keys.
func show(name string, result any, err error) {
	fmt.Println("==", name)
	if err != nil {
		fmt.Println(err)
	} else {
		fmt.Printf("%+v\n", result)
	}
	pause()
}

// pause gives Apache Kafka time, which answers before all of it has seen a change.
func pause() {
	if ms, err := strconv.Atoi(os.Args[5]); err == nil {
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
}

func done(name string, err error) { show(name, "done", err) }

func main() {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.ClientID = "member"
	client, err := sarama.NewClient([]string{os.Args[1]}, c)
	if err != nil {
		log.Fatal(err)
	}
	a, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		log.Fatal(err)
	}
	topics(a)
	configs(a)
	base, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	records(a, client, base)
	groups(a, client)
	others(a)
	done("delete topic", a.DeleteTopic("orders"))
	done("delete unknown topic", a.DeleteTopic("missing"))
}

func topics(a sarama.ClusterAdmin) {
	brokers, controller, err := a.DescribeCluster()
	show("cluster", fmt.Sprint(len(brokers), brokers[0].ID(), controller), err)
	hour := "3600000"
	done("create", a.CreateTopic("orders", &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": &hour}}, false))
	done("create again", a.CreateTopic("orders", &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false))
	done("create three replicas", a.CreateTopic("three", &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 3}, false))
	done("create invalid name", a.CreateTopic("a/b", &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false))
	done("create assigned", a.CreateTopic("assigned", &sarama.TopicDetail{NumPartitions: -1, ReplicationFactor: -1, ReplicaAssignment: map[int32][]int32{0: {1}, 1: {1}}}, false))
	done("validate", a.CreateTopic("never", &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, true))
	listed, err := a.ListTopics()
	settings := []string{}
	for name, t := range listed {
		for key, value := range t.ConfigEntries {
			settings = append(settings, fmt.Sprint(name, " ", key, " ", value != nil))
		}
		t.ConfigEntries = nil
		listed[name] = t
	}
	sort.Strings(settings)
	show("settings of topics", strings.Join(settings, "\n"), err)
	show("list", listed, err)
	described, err := a.DescribeTopics([]string{"orders", "missing"})
	show("describe", nil, err)
	for _, t := range described {
		fmt.Println(t.Name, t.Err, t.IsInternal, t.Version, t.TopicAuthorizedOperations)
		for _, p := range t.Partitions {
			fmt.Printf("%+v\n", *p)
		}
	}
	done("more partitions", a.CreatePartitions("orders", 4, nil, false))
	done("fewer partitions", a.CreatePartitions("orders", 1, nil, false))
}

// entries prints settings line by line.
func entries(name string, a sarama.ClusterAdmin, r sarama.ConfigResource) {
	all, err := a.DescribeConfig(r)
	show(name, len(all), err)
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	for _, e := range all {
		fmt.Println(e.Name, "=", e.Value, e.ReadOnly, e.Default, e.Source, e.Sensitive)
		for _, s := range e.Synonyms {
			fmt.Println("  ", s.ConfigName, "=", s.ConfigValue, s.Source)
		}
	}
}

func configs(a sarama.ClusterAdmin) {
	entries("configs of topic", a, sarama.ConfigResource{Type: sarama.TopicResource, Name: "orders"})
	entries("configs of broker", a, sarama.ConfigResource{Type: sarama.BrokerResource, Name: "1"})
	entries("configs of all brokers", a, sarama.ConfigResource{Type: sarama.BrokerResource})
	entries("configs of unknown topic", a, sarama.ConfigResource{Type: sarama.TopicResource, Name: "missing"})
	value := func(s string) *string { return &s }
	done("alter the old way", a.AlterConfig(sarama.TopicResource, "orders", map[string]*string{"retention.ms": value("5000000")}, false))
	for _, how := range []struct {
		name, key string
		op        sarama.IncrementalAlterConfigsOperation
		value     *string
	}{
		{"set", "max.message.bytes", sarama.IncrementalAlterConfigsOperationSet, value("2000000")},
		{"append", "cleanup.policy", sarama.IncrementalAlterConfigsOperationAppend, value("compact")},
		{"delete", "retention.ms", sarama.IncrementalAlterConfigsOperationDelete, nil},
		{"set unknown", "no.such", sarama.IncrementalAlterConfigsOperationSet, value("1")},
		{"set invalid", "cleanup.policy", sarama.IncrementalAlterConfigsOperationSet, value("shred")},
	} {
		done(how.name, a.IncrementalAlterConfig(sarama.TopicResource, "orders", map[string]sarama.IncrementalAlterConfigsEntry{how.key: {Operation: how.op, Value: how.value}}, false))
	}
	for _, how := range []struct{ name, broker, key, value string }{
		{"set of broker", "1", "log.cleaner.threads", "2"}, {"set static of broker", "1", "node.id", "2"}, {"set of all brokers", "", "log.retention.ms", "7200000"},
		{"set invalid of all brokers", "", "log.retention.ms", "soon"}, {"set of unknown broker", "7", "log.cleaner.threads", "2"},
	} {
		done(how.name, a.IncrementalAlterConfig(sarama.BrokerResource, how.broker, map[string]sarama.IncrementalAlterConfigsEntry{how.key: {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &how.value}}, false))
	}
	entries("configs of all brokers then", a, sarama.ConfigResource{Type: sarama.BrokerResource})
	entries("configs of topic then", a, sarama.ConfigResource{Type: sarama.TopicResource, Name: "orders"})
}

func records(a sarama.ClusterAdmin, client sarama.Client, base int64) {
	p, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		log.Fatal(err)
	}
	for n := range 10 {
		if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: "orders", Key: sarama.StringEncoder(fmt.Sprint(n)), Value: sarama.StringEncoder(fmt.Sprint(n)), Timestamp: time.UnixMilli(base + int64(n*7%10)*1000)}); err != nil {
			log.Fatal(err)
		}
	}
	for n, at := range []int64{sarama.OffsetOldest, sarama.OffsetNewest, -3, -4, -5, base + 5000, base + 86_400_000} {
		found, err := a.ListOffsets(map[string]map[int32]int64{"orders": {0: at}}, nil)
		if err == nil {
			r := found["orders"][0]
			show(fmt.Sprint("offsets ", n), fmt.Sprint(r.Offset, r.Timestamp, r.LeaderEpoch, r.Err), err)
			continue
		}
		show(fmt.Sprint("offsets ", n), nil, err)
	}
	done("delete records", a.DeleteRecords("orders", map[int32]int64{0: 3}))
	done("delete too many records", a.DeleteRecords("orders", map[int32]int64{0: 99}))
}

// member reads one record in a group, calls then, and leaves.
type member struct{ then func() }

func (member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m member) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	if c.Partition() != 0 {
		<-s.Context().Done()
		return nil
	}
	// The claim ends without a message when the session does.
	first, ok := <-c.Messages()
	if !ok {
		return nil
	}
	s.MarkMessage(first, "")
	s.Commit()
	m.then()
	return nil
}

// ready calls until no coordinator is loading any more.
func ready(call func() error) {
	for {
		err := call()
		if !errors.Is(err, sarama.ErrOffsetsLoadInProgress) && !errors.Is(err, sarama.ErrConsumerCoordinatorNotAvailable) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func groups(a sarama.ClusterAdmin, client sarama.Client) {
	ready(func() error {
		got, err := a.ListConsumerGroupOffsets("reset", nil)
		if err == nil && got.Err != sarama.ErrNoError {
			return got.Err
		}
		return err
	})
	set, err := a.AlterConsumerGroupOffsets("reset", map[string]map[int32]sarama.OffsetAndMetadata{"orders": {0: {Offset: 5, Metadata: "here", LeaderEpoch: -1}}}, nil)
	show("set offsets of new group", set.Errors, err)
	offsets := func(group string) {
		got, err := a.ListConsumerGroupOffsets(group, map[string][]int32{"orders": {0, 1}})
		show("offsets of "+group, nil, err)
		for p := range int32(2) {
			if b := got.GetBlock("orders", p); b != nil {
				fmt.Printf("%+v\n", *b)
			}
		}
	}
	describe := func(group string) {
		got, err := a.DescribeConsumerGroups([]string{group})
		show("describe "+group, nil, err)
		for _, g := range got {
			fmt.Println(g.GroupId, g.Err, g.ErrorCode, g.State, g.ProtocolType, g.Protocol, g.AuthorizedOperations)
			for _, m := range g.Members {
				assigned, err := m.GetMemberAssignment()
				fmt.Println(m.ClientId, m.ClientHost, m.GroupInstanceId, assigned.Topics, err)
			}
		}
	}
	offsets("reset")
	offsets("missing")
	describe("reset")
	describe("missing")
	g, err := sarama.NewConsumerGroupFromClient("of-sarama", client)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := g.Consume(ctx, []string{"orders"}, member{func() {
		describe("of-sarama")
		offsets("of-sarama")
		done("delete group of members", a.DeleteConsumerGroup("of-sarama"))
		done("delete offsets of members", a.DeleteConsumerGroupOffset("of-sarama", "orders", 0))
		cancel()
	}}); err != nil {
		log.Fatal(err)
	}
	left, err := a.RemoveMemberFromConsumerGroup("of-sarama", []string{"nobody"})
	show("remove unknown member", fmt.Sprint(left.Err), err)
	for _, m := range left.Members {
		fmt.Println(m.MemberId, m.Err)
	}
	// The client is shared and stays open.
	listed, err := a.ListConsumerGroups()
	show("groups", listed, err)
	done("delete offsets", a.DeleteConsumerGroupOffset("reset", "orders", 0))
	done("delete group", a.DeleteConsumerGroup("reset"))
	done("delete unknown group", a.DeleteConsumerGroup("missing"))
}

func others(a sarama.ClusterAdmin) {
	topics := map[string]int64{}
	dirs, err := a.DescribeLogDirs([]int32{1})
	show("log dirs", nil, err)
	slices.SortFunc(dirs[1], func(a, b sarama.DescribeLogDirsResponseDirMetadata) int { return strings.Compare(a.Path, b.Path) })
	for _, d := range dirs[1] {
		fmt.Println(d.Path, d.ErrorCode, d.TotalBytes > 0, d.UsableBytes > 0)
		for _, t := range d.Topics { // where a broker puts a partition is for it to say
			if strings.HasPrefix(t.Topic, "__") {
				continue
			}
			for _, p := range t.Partitions {
				topics[t.Topic] += p.Size
				topics["partitions"]++
			}
		}
	}
	fmt.Println(topics)
	elected, err := a.ElectLeaders(sarama.PreferredElection, map[string][]int32{"orders": {0}})
	show("elect", nil, err)
	for topic, partitions := range elected {
		for p, r := range partitions {
			fmt.Println(topic, p, r.ErrorCode, *r.ErrorMessage)
		}
	}
	elected, err = a.ElectLeaders(sarama.UncleanElection, map[string][]int32{"missing": {0}})
	show("elect unclean of unknown topic", len(elected["missing"]), err)
	moving, err := a.ListPartitionReassignments("orders", []int32{0})
	show("reassignments", len(moving), err)
	done("reassign", a.AlterPartitionReassignments("orders", [][]int32{{1}, {1}, {1}, {1}}))
	done("reassign to unknown", a.AlterPartitionReassignments("orders", [][]int32{{9}}))
	done("set quota", a.AlterClientQuotas([]sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: "someone"}},
		sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 1024}, false))
	quotas, err := a.DescribeClientQuotas([]sarama.QuotaFilterComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchAny}}, false)
	show("quotas", quotas, err)
	acls, err := a.ListAcls(sarama.AclFilter{ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny, Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny})
	show("acls", acls, err)
	done("create acl", a.CreateACL(sarama.Resource{ResourceType: sarama.AclResourceTopic, ResourceName: "orders", ResourcePatternType: sarama.AclPatternLiteral},
		sarama.Acl{Principal: "User:someone", Host: "*", Operation: sarama.AclOperationRead, PermissionType: sarama.AclPermissionAllow}))
	gone, err := a.DeleteACL(sarama.AclFilter{ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny, Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny}, false)
	show("delete acl", gone, err)
	set, err := a.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{
		{Name: "someone", Mechanism: sarama.SCRAM_MECHANISM_SHA_256, Iterations: 4096, Salt: []byte("salt"), Password: []byte("secret")},
		{Name: "weak", Mechanism: sarama.SCRAM_MECHANISM_SHA_512, Iterations: 10, Salt: []byte("salt"), Password: []byte("secret")},
	})
	credentials("set credentials", set, err)
	known, err := a.DescribeUserScramCredentials([]string{"someone", "nobody"})
	show("credentials", nil, err)
	for _, u := range known {
		fmt.Println(u.User, u.ErrorCode, text(u.ErrorMessage), len(u.CredentialInfos))
	}
	set, err = a.DeleteUserScramCredentials([]sarama.AlterUserScramCredentialsDelete{{Name: "someone", Mechanism: sarama.SCRAM_MECHANISM_SHA_256}, {Name: "nobody", Mechanism: sarama.SCRAM_MECHANISM_SHA_256}})
	credentials("delete credentials", set, err)
	for _, f := range []sarama.FeatureUpdate{{Feature: "no.such", MaxVersionLevel: 1}, {Feature: "group.version", MaxVersionLevel: 99}} {
		updated, err := a.UpdateFeatures([]sarama.FeatureUpdate{f})
		show("update feature "+f.Feature, updated, err)
	}
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// credentials prints what became of changes of credentials.
func credentials(name string, all []*sarama.AlterUserScramCredentialsResult, err error) {
	show(name, nil, err)
	for _, r := range all {
		fmt.Println(r.User, r.ErrorCode, text(r.ErrorMessage))
	}
}
