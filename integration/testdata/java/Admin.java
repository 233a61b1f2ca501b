import java.time.Duration;
import java.util.*;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.common.serialization.*;

/** A round through the AdminClient: ADDRESS, two log dirs, the time of the first record, and a pause after each call. Each call prints its name and what came of it. */
public class Admin {
    interface Call {
        Object get() throws Exception;
    }

    static void show(String name, Call call) {
        System.out.println("== " + name);
        try {
            System.out.println(text(call.get()));
        } catch (ExecutionException e) {
            System.out.println(e.getCause().getClass().getSimpleName() + ": " + e.getCause().getMessage());
        } catch (Exception e) {
            System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** How long to wait after a call, in milliseconds: Apache Kafka answers before all of it has seen a change. */
    static long pause;

    /** Lists a map or a collection line by line, in the order of the alphabet. */
    static String text(Object o) {
        List<String> lines = new ArrayList<>();
        if (o instanceof Map<?, ?> m) {
            m.forEach((k, v) -> lines.add(line(k) + " = " + line(v)));
        } else if (o instanceof Config c) {
            for (ConfigEntry e : c.entries()) {
                lines.add(e.name() + " = " + (e.isSensitive() ? "secret" : e.value()) + " " + e.source() + " " + e.type() + (e.isReadOnly() ? " read-only" : "")
                        + " " + line(e.synonyms().stream().map(s -> s.source() + ":" + s.name() + "=" + s.value()).toList())
                        + (e.documentation() == null ? "" : " documented"));
            }
        } else if (o instanceof Collection<?> c && !(o instanceof List)) {
            c.forEach(v -> lines.add(line(v)));
        } else if (o instanceof List<?> l) {
            l.forEach(v -> lines.add(line(v)));
            return String.join("\n", lines);
        } else {
            return line(o);
        }
        Collections.sort(lines);
        return String.join("\n", lines);
    }

    /** The same in one line. */
    static String line(Object o) {
        if (o instanceof Map<?, ?> || o instanceof Collection<?>) {
            return "{" + text(o).replace("\n", ", ") + "}";
        }
        // Operations are in no order there.
        return Pattern.compile("authorizedOperations=\\[([A-Z_, ]+)\\]").matcher(String.valueOf(o))
                .replaceAll(m -> "authorizedOperations=" + new TreeSet<>(List.of(m.group(1).split(", "))));
    }

    static final ConfigResource.Type TOPIC = ConfigResource.Type.TOPIC, BROKER = ConfigResource.Type.BROKER, LOGGER = ConfigResource.Type.BROKER_LOGGER,
            GROUP = ConfigResource.Type.GROUP, METRICS = ConfigResource.Type.CLIENT_METRICS;

    final org.apache.kafka.clients.admin.Admin client;
    final String address, one, other;
    final long time;

    Admin(String address, String one, String other, long time) {
        this.address = address;
        this.one = one;
        this.other = other;
        this.time = time;
        client = org.apache.kafka.clients.admin.Admin.create(Map.of("bootstrap.servers", address, "default.api.timeout.ms", "20000", "request.timeout.ms", "20000"));
    }

    public static void main(String[] a) {
        pause = Long.parseLong(a[4]);
        Admin x = new Admin(a[0], a[1], a[2], Long.parseLong(a[3]));
        x.cluster();
        x.topics();
        x.configs();
        x.records();
        x.groups();
        x.logDirs();
        x.leaders();
        x.quotas();
        x.security();
        x.transactions();
        x.quorum();
        x.deletions();
        x.client.close(Duration.ZERO);
    }

    void cluster() {
        show("cluster", () -> {
            DescribeClusterResult r = client.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
            return List.of(r.nodes().get(), r.controller().get(), r.clusterId().get(), r.authorizedOperations().get());
        });
        show("cluster with fenced brokers", () -> client.describeCluster(new DescribeClusterOptions().includeFencedBrokers(true)).nodes().get());
    }

    void create(String name, NewTopic topic, boolean validate) {
        show(name, () -> {
            CreateTopicsResult r = client.createTopics(List.of(topic), new CreateTopicsOptions().validateOnly(validate));
            String n = topic.name();
            return List.of(r.numPartitions(n).get(), r.replicationFactor(n).get(), text(r.config(n).get()), r.topicId(n).get());
        });
    }

    void topics() {
        create("create", new NewTopic("orders", 3, (short) 1).configs(Map.of("retention.ms", "3600000")), false);
        create("create with defaults", new NewTopic("defaults", Optional.empty(), Optional.empty()), false);
        create("create assigned", new NewTopic("assigned", Map.of(0, List.of(1), 1, List.of(1))), false);
        create("validate", new NewTopic("never", 2, (short) 1), true);
        create("create again", new NewTopic("orders", 3, (short) 1), false);
        create("create three replicas", new NewTopic("three", 1, (short) 3), false);
        create("create no partitions", new NewTopic("none", 0, (short) 1), false);
        create("create invalid name", new NewTopic("a/b", 1, (short) 1), false);
        create("create colliding", new NewTopic("a.b", 1, (short) 1), false);
        create("create colliding too", new NewTopic("a_b", 1, (short) 1), false);
        create("create unknown setting", new NewTopic("bad", 1, (short) 1).configs(Map.of("no.such", "1")), false);
        create("create invalid setting", new NewTopic("bad", 1, (short) 1).configs(Map.of("retention.ms", "soon")), false);
        create("create with gaps", new NewTopic("gaps", Map.of(0, List.of(1), 2, List.of(1))), false);
        create("create unknown broker", new NewTopic("far", Map.of(0, List.of(9))), false);
        show("list", () -> client.listTopics(new ListTopicsOptions().listInternal(true)).listings().get());
        show("describe", () -> client.describeTopics(List.of("orders", "assigned"), new DescribeTopicsOptions().includeAuthorizedOperations(true)).allTopicNames().get());
        show("describe unknown", () -> client.describeTopics(List.of("missing")).allTopicNames().get());
        show("describe by id", () -> client.describeTopics(TopicCollection.ofTopicIds(List.of(client.describeTopics(List.of("orders")).allTopicNames().get().get("orders").topicId()))).allTopicIds().get());
        show("describe unknown id", () -> client.describeTopics(TopicCollection.ofTopicIds(List.of(new Uuid(7, 7)))).allTopicIds().get());
        show("more partitions", () -> client.createPartitions(Map.of("orders", NewPartitions.increaseTo(4))).all().get());
        show("fewer partitions", () -> client.createPartitions(Map.of("orders", NewPartitions.increaseTo(2))).all().get());
        show("as many partitions", () -> client.createPartitions(Map.of("orders", NewPartitions.increaseTo(4))).all().get());
        show("partitions of unknown topic", () -> client.createPartitions(Map.of("missing", NewPartitions.increaseTo(2))).all().get());
        show("partitions assigned wrongly", () -> client.createPartitions(Map.of("orders", NewPartitions.increaseTo(6, List.of(List.of(1))))).all().get());
        show("partitions on unknown broker", () -> client.createPartitions(Map.of("orders", NewPartitions.increaseTo(5, List.of(List.of(9))))).all().get());
    }

    void configsOf(String name, ConfigResource.Type type, String resource, boolean documented) {
        show(name, () -> {
            ConfigResource r = new ConfigResource(type, resource);
            return client.describeConfigs(List.of(r), new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(documented)).all().get().get(r);
        });
    }

    void alter(String name, ConfigResource.Type type, String resource, AlterConfigOp.OpType op, String key, String value) {
        show(name, () -> client.incrementalAlterConfigs(Map.of(new ConfigResource(type, resource), List.of(new AlterConfigOp(new ConfigEntry(key, value), op)))).all().get());
    }

    @SuppressWarnings("removal")
    void configs() {
        configsOf("configs of topic", TOPIC, "orders", false);
        configsOf("configs of broker", BROKER, "1", false);
        configsOf("configs of broker that is no number", BROKER, "one", false);
        configsOf("configs of topic without a name", TOPIC, "", false);
        configsOf("configs of all brokers", BROKER, "", false);
        configsOf("configs of unknown topic", TOPIC, "missing", false);
        configsOf("configs of group", GROUP, "readers", false);
        configsOf("configs of metrics", METRICS, "none", false);
        alter("set", TOPIC, "orders", AlterConfigOp.OpType.SET, "max.message.bytes", "2000000");
        alter("append", TOPIC, "orders", AlterConfigOp.OpType.APPEND, "cleanup.policy", "compact");
        alter("subtract", TOPIC, "orders", AlterConfigOp.OpType.SUBTRACT, "cleanup.policy", "compact");
        alter("delete", TOPIC, "orders", AlterConfigOp.OpType.DELETE, "retention.ms", null);
        alter("append to number", TOPIC, "orders", AlterConfigOp.OpType.APPEND, "retention.ms", "1");
        alter("set nothing", TOPIC, "orders", AlterConfigOp.OpType.SET, "retention.ms", null);
        show("set but validate only", () -> client.incrementalAlterConfigs(Map.of(new ConfigResource(TOPIC, "orders"), List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "1"), AlterConfigOp.OpType.SET))), new AlterConfigsOptions().validateOnly(true)).all().get());
        show("set twice", () -> client.incrementalAlterConfigs(Map.of(new ConfigResource(TOPIC, "orders"), List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "1"), AlterConfigOp.OpType.SET), new AlterConfigOp(new ConfigEntry("retention.ms", "2"), AlterConfigOp.OpType.SET)))).all().get());
        alter("set unknown", TOPIC, "orders", AlterConfigOp.OpType.SET, "no.such", "1");
        alter("set invalid", TOPIC, "orders", AlterConfigOp.OpType.SET, "cleanup.policy", "shred");
        alter("set of unknown topic", TOPIC, "missing", AlterConfigOp.OpType.SET, "retention.ms", "1");
        alter("set of broker", BROKER, "1", AlterConfigOp.OpType.SET, "log.cleaner.threads", "2");
        alter("set of all brokers", BROKER, "", AlterConfigOp.OpType.SET, "log.retention.ms", "7200000");
        alter("set read-only of broker", BROKER, "1", AlterConfigOp.OpType.SET, "num.partitions.x", "2");
        alter("set static of broker", BROKER, "1", AlterConfigOp.OpType.SET, "node.id", "2");
        alter("set invalid of broker", BROKER, "1", AlterConfigOp.OpType.SET, "log.cleaner.threads", "none");
        alter("set of group", GROUP, "readers", AlterConfigOp.OpType.SET, "consumer.session.timeout.ms", "50000");
        alter("set invalid of group", GROUP, "readers", AlterConfigOp.OpType.SET, "consumer.session.timeout.ms", "1");
        alter("set of metrics", METRICS, "all", AlterConfigOp.OpType.SET, "metrics", "org.apache.kafka.producer.");
        alter("set invalid of metrics", METRICS, "all", AlterConfigOp.OpType.SET, "interval.ms", "1");
        alter("set unknown of metrics", METRICS, "all", AlterConfigOp.OpType.SET, "no.such", "1");
        alter("set unknown of group", GROUP, "readers", AlterConfigOp.OpType.SET, "no.such", "1");
        alter("set of group without a name", GROUP, "", AlterConfigOp.OpType.SET, "consumer.session.timeout.ms", "50000");
        alter("set of logger", LOGGER, "1", AlterConfigOp.OpType.SET, "kafka.server.KafkaApis", "DEBUG");
        alter("set invalid of logger", LOGGER, "1", AlterConfigOp.OpType.SET, "kafka.server.KafkaApis", "LOUD");
        alter("set of unknown logger", LOGGER, "1", AlterConfigOp.OpType.SET, "no.such.Logger", "INFO");
        alter("append to logger", LOGGER, "1", AlterConfigOp.OpType.APPEND, "kafka.server.KafkaApis", "INFO");
        alter("delete root logger", LOGGER, "1", AlterConfigOp.OpType.DELETE, "root", "");
        show("level of a logger", () -> loggers("kafka.server.KafkaApis"));
        alter("delete of logger", LOGGER, "1", AlterConfigOp.OpType.DELETE, "kafka.server.KafkaApis", "");
        show("level of a logger then", () -> loggers("kafka.server.KafkaApis"));
        show("level of root logger", () -> loggers("root"));
        show("all resources", () -> client.listConfigResources().all().get());
        show("resources of metrics", () -> client.listClientMetricsResources().all().get());
        show("resources", () -> client.listConfigResources(Set.of(TOPIC, GROUP, METRICS), new ListConfigResourcesOptions()).all().get());
        configsOf("configs of topic then", TOPIC, "orders", false);
        configsOf("configs of group then", GROUP, "readers", false);
        configsOf("configs of metrics then", METRICS, "all", false);
        show("changed configs of broker", () -> {
            ConfigResource r = new ConfigResource(BROKER, "1");
            return client.describeConfigs(List.of(r)).all().get().get(r).entries().stream().filter(e -> e.source().name().startsWith("DYNAMIC")).map(e -> e.name() + "=" + e.value() + " " + e.source()).sorted().toList();
        });
        alter("delete of broker", BROKER, "1", AlterConfigOp.OpType.DELETE, "log.cleaner.threads", null);
        alter("delete of all brokers", BROKER, "", AlterConfigOp.OpType.DELETE, "log.retention.ms", null);
        alter("delete of metrics", METRICS, "all", AlterConfigOp.OpType.DELETE, "metrics", null);
    }

    /** The level of a logger, and where it comes from. */
    Object loggers(String name) throws Exception {
        ConfigResource r = new ConfigResource(LOGGER, "1");
        ConfigEntry e = client.describeConfigs(List.of(r)).all().get().get(r).get(name);
        return e.value() + " " + e.source() + " " + e.isReadOnly();
    }

    void offsets(String name, OffsetSpec spec) {
        show(name, () -> client.listOffsets(Map.of(new TopicPartition("orders", 0), spec)).all().get());
    }

    void records() {
        Map<String, Object> p = Map.of("bootstrap.servers", address, "linger.ms", "0");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            for (int n = 0; n < 10; n++) {
                producer.send(new ProducerRecord<>("orders", 0, time + (n * 7 % 10) * 1000, "k" + n, "v" + n)).get();
            }
        } catch (Exception e) {
            System.out.println(e);
        }
        offsets("earliest", OffsetSpec.earliest());
        offsets("latest", OffsetSpec.latest());
        offsets("of the newest", OffsetSpec.maxTimestamp());
        offsets("of a time", OffsetSpec.forTimestamp(time + 5000));
        offsets("of a time after all", OffsetSpec.forTimestamp(time + 86_400_000));
        offsets("earliest local", OffsetSpec.earliestLocal());
        offsets("latest tiered", OffsetSpec.latestTiered());
        offsets("earliest pending upload", OffsetSpec.earliestPendingUpload());
        show("latest committed", () -> client.listOffsets(Map.of(new TopicPartition("orders", 0), OffsetSpec.latest()), new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).all().get());
        show("of unknown topic", () -> client.listOffsets(Map.of(new TopicPartition("missing", 0), OffsetSpec.latest()), new ListOffsetsOptions().timeoutMs(1000)).all().get());
        show("delete records", () -> client.deleteRecords(Map.of(new TopicPartition("orders", 0), RecordsToDelete.beforeOffset(3))).lowWatermarks().get(new TopicPartition("orders", 0)).get().lowWatermark());
        show("delete too many records", () -> client.deleteRecords(Map.of(new TopicPartition("orders", 0), RecordsToDelete.beforeOffset(99))).all().get());
        show("delete all records", () -> client.deleteRecords(Map.of(new TopicPartition("orders", 1), RecordsToDelete.beforeOffset(-1))).lowWatermarks().get(new TopicPartition("orders", 1)).get().lowWatermark());
    }

    @SuppressWarnings("removal")
    void groups() {
        Map<TopicPartition, OffsetAndMetadata> committed = Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(5, "here"), new TopicPartition("orders", 1), new OffsetAndMetadata(0));
        show("set offsets of new group", () -> client.alterConsumerGroupOffsets("reset", committed).all().get());
        show("set offsets of unknown topic", () -> client.alterConsumerGroupOffsets("reset", Map.of(new TopicPartition("missing", 0), new OffsetAndMetadata(1))).all().get());
        show("offsets", () -> client.listConsumerGroupOffsets("reset").all().get());
        show("offsets of unknown group", () -> client.listConsumerGroupOffsets("missing").all().get());
        show("groups", () -> client.listGroups().all().get());
        show("consumer groups", () -> client.listConsumerGroups().all().get());
        show("describe empty group", () -> client.describeConsumerGroups(List.of("reset")).all().get());
        show("describe unknown group", () -> client.describeConsumerGroups(List.of("missing")).all().get());
        show("describe unknown classic group", () -> client.describeClassicGroups(List.of("missing")).all().get());
        for (String protocol : List.of("classic", "consumer")) {
            Map<String, Object> c = Map.of("bootstrap.servers", address, "group.id", "of-" + protocol, "group.protocol", protocol, "client.id", "member", "auto.offset.reset", "earliest", "enable.auto.commit", "false",
                    "group.instance.id", "seat");
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(c, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of("orders"));
                while (consumer.poll(Duration.ofMillis(100)).isEmpty()) {
                }
                consumer.commitSync();
                show("describe group of " + protocol, () -> client.describeConsumerGroups(List.of("of-" + protocol), new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)).all().get());
                show("describe as classic", () -> client.describeClassicGroups(List.of("of-" + protocol)).all().get());
                show("offsets of members", () -> client.listConsumerGroupOffsets("of-" + protocol).all().get());
                show("set offsets of members", () -> client.alterConsumerGroupOffsets("of-" + protocol, committed).all().get());
                show("delete offsets of members", () -> client.deleteConsumerGroupOffsets("of-" + protocol, Set.of(new TopicPartition("orders", 0))).all().get());
                show("delete group of members", () -> client.deleteConsumerGroups(List.of("of-" + protocol)).all().get());
                show("stable groups", () -> client.listGroups(new ListGroupsOptions().inGroupStates(Set.of(GroupState.STABLE))).all().get());
            }
        }
        // A static member of a classic group does not leave when it closes.
        show("remove member", () -> client.removeMembersFromConsumerGroup("of-classic", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("seat")))).all().get());
        show("remove unknown member", () -> client.removeMembersFromConsumerGroup("of-classic", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("nobody")))).all().get());
        show("remove all members", () -> client.removeMembersFromConsumerGroup("of-classic", new RemoveMembersFromConsumerGroupOptions()).all().get());
        show("remove member of new protocol", () -> client.removeMembersFromConsumerGroup("of-consumer", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("seat")))).all().get());
        show("groups of both", () -> client.listGroups(ListGroupsOptions.forConsumerGroups()).all().get());
        show("groups by protocol type", () -> client.listGroups(new ListGroupsOptions().withProtocolTypes(Set.of("consumer"))).all().get());
        show("offsets of several groups", () -> client.listConsumerGroupOffsets(Map.of("reset", new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(new TopicPartition("orders", 0), new TopicPartition("orders", 3))), "of-classic", new ListConsumerGroupOffsetsSpec())).all().get());
        show("delete offsets", () -> client.deleteConsumerGroupOffsets("reset", Set.of(new TopicPartition("orders", 0))).all().get());
        show("delete offsets not there", () -> client.deleteConsumerGroupOffsets("reset", Set.of(new TopicPartition("missing", 0))).all().get());
        show("offsets then", () -> client.listConsumerGroupOffsets("reset").all().get());
        show("groups by type", () -> client.listGroups(new ListGroupsOptions().withTypes(Set.of(GroupType.CONSUMER))).all().get());
        show("delete groups", () -> client.deleteConsumerGroups(List.of("reset", "of-classic", "of-consumer")).all().get());
        show("delete unknown group", () -> client.deleteConsumerGroups(List.of("missing")).all().get());
        show("groups in the end", () -> client.listGroups().all().get());
    }

    void logDirs() {
        TopicPartitionReplica replica = new TopicPartitionReplica("orders", 0, 1);
        for (String dir : List.of(one, other, "/no/such/dir")) {
            show("move to " + dir, () -> client.alterReplicaLogDirs(Map.of(replica, dir)).all().get());
            show("where it is", () -> {
                // A move takes its time; how long is not looked at.
                for (int n = 0; n < 1000 && client.describeReplicaLogDirs(List.of(replica)).all().get().get(replica).getFutureReplicaLogDir() != null; n++) {
                    Thread.sleep(10);
                }
                return client.describeReplicaLogDirs(List.of(replica)).all().get();
            });
        }
        show("where unknown is", () -> client.describeReplicaLogDirs(List.of(new TopicPartitionReplica("missing", 0, 1))).all().get());
        show("move unknown", () -> client.alterReplicaLogDirs(Map.of(new TopicPartitionReplica("missing", 0, 1), one)).all().get());
        show("log dirs", () -> {
            Map<String, Object> dirs = new TreeMap<>();
            client.describeLogDirs(List.of(1)).allDescriptions().get().get(1).forEach((dir, d) -> {
                dirs.put(dir, d.error() + " total " + d.totalBytes().isPresent() + " usable " + d.usableBytes().isPresent() + " " + d.isCordoned());
                d.replicaInfos().forEach((tp, r) -> {
                    if (tp.topic().equals("orders") && tp.partition() == 0) {
                        dirs.put("of " + tp, dir.equals(other) + " " + r);
                    }
                });
            });
            return dirs;
        });
    }

    void leaders() {
        TopicPartition tp = new TopicPartition("orders", 0), missing = new TopicPartition("missing", 0);
        show("elect preferred", () -> client.electLeaders(ElectionType.PREFERRED, Set.of(tp, missing)).partitions().get());
        show("elect unclean", () -> client.electLeaders(ElectionType.UNCLEAN, Set.of(tp)).partitions().get());
        show("elect all", () -> client.electLeaders(ElectionType.PREFERRED, null).partitions().get());
        show("reassign to itself", () -> client.alterPartitionReassignments(Map.of(tp, Optional.of(new NewPartitionReassignment(List.of(1))))).all().get());
        show("reassign to unknown", () -> client.alterPartitionReassignments(Map.of(tp, Optional.of(new NewPartitionReassignment(List.of(1, 9))))).all().get());
        show("reassign to nobody", () -> client.alterPartitionReassignments(Map.of(tp, Optional.of(new NewPartitionReassignment(List.of())))).all().get());
        show("reassign twice to one", () -> client.alterPartitionReassignments(Map.of(tp, Optional.of(new NewPartitionReassignment(List.of(1, 1))))).all().get());
        show("cancel reassignment", () -> client.alterPartitionReassignments(Map.of(tp, Optional.empty())).all().get());
        show("reassign unknown topic", () -> client.alterPartitionReassignments(Map.of(missing, Optional.of(new NewPartitionReassignment(List.of(1))))).all().get());
        show("reassignments", () -> client.listPartitionReassignments().reassignments().get());
        show("reassignments of some", () -> client.listPartitionReassignments(Set.of(tp, missing)).reassignments().get());
    }

    void quota(String name, Map<String, String> entity, String key, Double value) {
        show(name, () -> client.alterClientQuotas(List.of(new ClientQuotaAlteration(new ClientQuotaEntity(entity), List.of(new ClientQuotaAlteration.Op(key, value))))).all().get());
    }

    void quotas(String name, ClientQuotaFilter filter) {
        show(name, () -> client.describeClientQuotas(filter).entities().get());
    }

    void quotas() {
        Map<String, String> everybody = new HashMap<>(), nothing = new HashMap<>();
        everybody.put("user", null);
        quota("set quota", Map.of("user", "someone", "client-id", "tool"), "producer_byte_rate", 1024.0);
        quota("set quota of everybody", everybody, "request_percentage", 200.0);
        quota("set quota of address", Map.of("ip", "192.0.2.7"), "connection_creation_rate", 10.0);
        quota("set quota of no address", Map.of("ip", "no address"), "connection_creation_rate", 10.0);
        quota("set unknown quota", Map.of("user", "someone"), "no_rate", 1.0);
        quota("set quota of address and user", Map.of("ip", "192.0.2.7", "user", "someone"), "connection_creation_rate", 10.0);
        quota("set half a quota", Map.of("user", "someone"), "producer_byte_rate", 1.5);
        quota("set negative quota", Map.of("user", "someone"), "producer_byte_rate", -1.0);
        quota("set quota of unknown kind", Map.of("planet", "earth"), "producer_byte_rate", 1.0);
        quota("set quota of nothing", nothing, "producer_byte_rate", 1.0);
        quotas("quotas", ClientQuotaFilter.all());
        quotas("quotas of a user", ClientQuotaFilter.contains(List.of(ClientQuotaFilterComponent.ofEntity("user", "someone"))));
        quotas("quotas of a user alone", ClientQuotaFilter.containsOnly(List.of(ClientQuotaFilterComponent.ofEntity("user", "someone"))));
        quotas("quotas of everybody", ClientQuotaFilter.contains(List.of(ClientQuotaFilterComponent.ofDefaultEntity("user"))));
        quotas("quotas of users", ClientQuotaFilter.contains(List.of(ClientQuotaFilterComponent.ofEntityType("user"))));
        quotas("quotas of unknown kind", ClientQuotaFilter.contains(List.of(ClientQuotaFilterComponent.ofEntityType("planet"))));
        quota("remove quota", Map.of("user", "someone", "client-id", "tool"), "producer_byte_rate", null);
        quota("remove quota not there", Map.of("user", "nobody"), "producer_byte_rate", null);
        quotas("quotas then", ClientQuotaFilter.all());
    }

    void security() {
        AclBinding binding = new AclBinding(new ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL), new AccessControlEntry("User:someone", "*", AclOperation.READ, AclPermissionType.ALLOW));
        show("acls", () -> client.describeAcls(AclBindingFilter.ANY).values().get());
        show("create acl", () -> client.createAcls(List.of(binding)).all().get());
        show("delete acl", () -> client.deleteAcls(List.of(binding.toFilter())).all().get());
        show("create delegation token", () -> client.createDelegationToken().delegationToken().get());
        show("renew delegation token", () -> client.renewDelegationToken(new byte[] {1}).expiryTimestamp().get());
        show("expire delegation token", () -> client.expireDelegationToken(new byte[] {1}).expiryTimestamp().get());
        show("delegation tokens", () -> client.describeDelegationToken().delegationTokens().get());
        show("set credentials", () -> client.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("someone", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), "secret"))).all().get());
        show("set weak credentials", () -> client.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("weak", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 10), "secret"))).all().get());
        show("credentials", () -> client.describeUserScramCredentials().all().get());
        show("credentials of unknown user", () -> client.describeUserScramCredentials(List.of("someone", "nobody")).all().get());
        show("delete credentials", () -> client.alterUserScramCredentials(List.of(new UserScramCredentialDeletion("someone", ScramMechanism.SCRAM_SHA_256))).all().get());
        show("delete credentials not there", () -> client.alterUserScramCredentials(List.of(new UserScramCredentialDeletion("someone", ScramMechanism.SCRAM_SHA_512))).all().get());
        show("credentials then", () -> client.describeUserScramCredentials().all().get());
    }

    /** What transactions were, without ids and times. */
    Object listed(ListTransactionsOptions o) throws Exception {
        return client.listTransactions(o).all().get().stream().map(t -> t.transactionalId() + " " + t.state()).sorted().toList();
    }

    Object described(String id) throws Exception {
        TransactionDescription d = client.describeTransactions(List.of(id)).all().get().get(id);
        return d.coordinatorId() + " " + d.state() + " epoch " + d.producerEpoch() + " within " + d.transactionTimeoutMs() + " since " + d.transactionStartTimeMs().isPresent() + " in " + d.topicPartitions();
    }

    List<ProducerState> producers(TopicPartition tp) throws Exception {
        return client.describeProducers(List.of(tp)).all().get().get(tp).activeProducers();
    }

    void transactions() {
        TopicPartition tp = new TopicPartition("orders", 1);
        Map<String, Object> p = Map.of("bootstrap.servers", address, "transactional.id", "buyer", "transaction.timeout.ms", "50000");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            show("transactions without one", () -> listed(new ListTransactionsOptions()));
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("orders", 1, "k", "v"));
            producer.flush();
            show("transactions", () -> listed(new ListTransactionsOptions()));
            show("ongoing transactions", () -> listed(new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING))));
            show("transactions of unknown producer", () -> listed(new ListTransactionsOptions().filterProducerIds(Set.of(999999L))));
            show("long transactions", () -> listed(new ListTransactionsOptions().filterOnDuration(3_600_000)));
            show("transactions by pattern", () -> listed(new ListTransactionsOptions().filterOnTransactionalIdPattern("b.*r")));
            show("transactions by other pattern", () -> listed(new ListTransactionsOptions().filterOnTransactionalIdPattern("b")));
            show("transactions by wrong pattern", () -> listed(new ListTransactionsOptions().filterOnTransactionalIdPattern("[")));
            show("transaction", () -> described("buyer"));
            show("unknown transaction", () -> described("missing"));
            show("producers", () -> producers(tp).stream().map(s -> "epoch " + s.producerEpoch() + " sequence " + s.lastSequence() + " coordinator " + s.coordinatorEpoch() + " since " + s.currentTransactionStartOffset()).toList());
            show("latest committed", () -> client.listOffsets(Map.of(tp, OffsetSpec.latest()), new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).all().get().get(tp).offset());
            ProducerState writer = producers(tp).get(0);
            show("abort with old epoch", () -> client.abortTransaction(new AbortTransactionSpec(tp, writer.producerId(), (short) (writer.producerEpoch() - 1), 0)).all().get());
            show("abort", () -> client.abortTransaction(new AbortTransactionSpec(tp, writer.producerId(), (short) writer.producerEpoch(), 0)).all().get());
            show("producers then", () -> producers(tp).stream().map(s -> "epoch " + s.producerEpoch() + " sequence " + s.lastSequence() + " since " + s.currentTransactionStartOffset()).toList());
            show("transaction whose marker is there", () -> described("buyer"));
            show("fence", () -> client.fenceProducers(List.of("buyer")).all().get());
            show("transaction of fenced", () -> described("buyer"));
            show("end transaction of fenced", () -> {
                producer.commitTransaction();
                return "committed";
            });
        } catch (Exception e) {
            System.out.println(e);
        }
        show("fence unknown", () -> {
            FenceProducersResult r = client.fenceProducers(List.of("stranger"));
            r.all().get();
            return r.epochId("stranger").get();
        });
        show("transaction of unknown", () -> described("stranger"));
        show("terminate transaction", () -> client.forceTerminateTransaction("buyer").result().get());
    }

    void quorum() {
        show("features", () -> client.describeFeatures().featureMetadata().get().finalizedFeatures());
        show("supported features", () -> client.describeFeatures().featureMetadata().get().supportedFeatures());
        for (String feature : List.of("no.such", "group.version", "metadata.version")) {
            for (FeatureUpdate.UpgradeType type : List.of(FeatureUpdate.UpgradeType.UPGRADE, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE, FeatureUpdate.UpgradeType.UNSAFE_DOWNGRADE)) {
                for (short level : new short[] {1, 99}) {
                    show("validate feature " + feature + " to " + level + " as " + type, () -> client.updateFeatures(Map.of(feature, new FeatureUpdate(level, type)), new UpdateFeaturesOptions().validateOnly(true)).all().get());
                }
            }
        }
        show("quorum", () -> {
            QuorumInfo q = client.describeMetadataQuorum().quorumInfo().get();
            return List.of(q.leaderId(), q.voters().stream().map(v -> v.replicaId() + " caught up " + v.lastCaughtUpTimestamp().isPresent()).toList(), q.observers(), q.nodes().keySet());
        });
        Uuid voter = new Uuid(7, 7);
        show("add voter", () -> client.addRaftVoter(9, voter, Set.of(new RaftVoterEndpoint("CONTROLLER", "192.0.2.7", 9093))).all().get());
        show("remove voter", () -> client.removeRaftVoter(9, voter).all().get());
        show("unregister unknown broker", () -> client.unregisterBroker(9).all().get());
        show("unregister unknown controller", () -> client.unregisterController(9).all().get());
        show("client instance", () -> client.clientInstanceId(Duration.ofSeconds(20)));
    }

    void deletions() {
        show("delete topics", () -> client.deleteTopics(List.of("orders", "defaults", "assigned", "a.b")).all().get());
        show("delete unknown topic", () -> client.deleteTopics(List.of("missing")).all().get());
        show("delete unknown id", () -> client.deleteTopics(TopicCollection.ofTopicIds(List.of(new Uuid(7, 7)))).all().get());
        show("topics in the end", () -> client.listTopics().names().get());
    }
}
