"""A round through kafka-python's admin client: ADDRESS, two log dirs, the time of the first record, and a pause after each call. Each call prints its name and what came of it."""
import sys
from time import sleep

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACL, AbortTransactionSpec, ACLFilter, ACLOperation, ACLPermissionType, ACLResourcePatternType, ConfigResource, ConfigResourceType, KafkaAdminClient,
    MemberToRemove, OffsetSpec, ResourcePattern, ResourcePatternFilter, ResourceType, UpdateFeatureType,
    UserScramCredentialDeletion, UserScramCredentialUpsertion)
from kafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError
from kafka.structs import OffsetAndMetadata, TopicPartitionReplica

addr, one, other, time, pause = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
admin = KafkaAdminClient(bootstrap_servers=addr, client_id="round", request_timeout_ms=20000)
first, missing = TopicPartition("orders", 0), TopicPartition("missing", 0)


def line(value):
    """A value in one line that does not change from run to run."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{line(k)}: {line(v)}" for k, v in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(line(v) for v in value)) + "}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__ + "(" + ", ".join(f"{k}={line(v)}" for k, v in zip(value._fields, value)) + ")"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(line(v) for v in value) + "]"
    return value.__name__ if isinstance(value, type) else str(value)


def show(name, call):
    """Prints what a call returns or raises."""
    print("==", name)
    try:
        result = call()
        for key, value in sorted(result.items(), key=lambda item: str(item[0])) if isinstance(result, dict) else [("", result)]:
            if isinstance(value, list):
                for item in sorted(line(v) for v in value):
                    print(line(key), item)
            else:
                print(line(key), line(value))
    except Exception as failure:
        print(type(failure).__name__, failure)
    sleep(pause / 1000)  # Apache Kafka answers before all of it has seen a change


def ready(call):
    """Calls until no coordinator is loading any more."""
    while True:
        try:
            return call()
        except (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError):
            sleep(0.05)


def configs(kind, name, chosen="all"):
    return lambda: [(name, v) for kinds in admin.describe_configs([ConfigResource(kind, name)], include_synonyms=True, config_filter=chosen).values() for entries in kinds.values()
                    for name, v in entries.items()]


def alter(kind, name, **how):
    return lambda: admin.alter_configs([ConfigResource(kind, name, configs=how)], raise_on_unknown=False)


def offsets(spec):
    return lambda: admin.list_partition_offsets({first: spec})


topic, broker, group = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.GROUP
show("cluster", admin.describe_cluster)
show("create", lambda: admin.create_topics({"orders": {"num_partitions": 3, "replication_factor": 1, "configs": {"retention.ms": "3600000"}}, "assigned": {"assignments": {0: [1], 1: [1]}}}))
show("create again", lambda: admin.create_topics({"orders": {"num_partitions": 3, "replication_factor": 1}}))
show("validate", lambda: admin.create_topics({"never": {"num_partitions": 3, "replication_factor": 1}}, validate_only=True))
show("create wrongly", lambda: admin.create_topics({"three": {"num_partitions": 1, "replication_factor": 3}, "a/b": {"num_partitions": 1}}, raise_errors=False))
show("list", lambda: sorted(admin.list_topics()))
show("describe", lambda: admin.describe_topics(["orders", "missing"]))
show("describe partitions", lambda: admin.describe_topic_partitions(["orders", "missing"]))
show("more partitions", lambda: admin.create_partitions({"orders": 4}))
show("fewer partitions", lambda: admin.create_partitions({"orders": 1}))
show("configs of topic", configs(topic, "orders"))
show("configs of broker", configs(broker, "1"))
show("configs of unknown topic", configs(topic, "missing"))
show("set", alter(topic, "orders", **{"max.message.bytes": "2000000"}))
show("append", alter(topic, "orders", **{"cleanup.policy": ("APPEND", "compact")}))
show("delete", alter(topic, "orders", **{"retention.ms": ("DELETE", None)}))
show("set unknown", alter(topic, "orders", **{"no.such": "1"}))
show("set invalid", alter(topic, "orders", **{"cleanup.policy": "shred"}))
show("set of unknown topic", alter(topic, "missing", **{"retention.ms": "1"}))
show("set static of broker", alter(broker, "1", **{"node.id": "2"}))
show("configs of group", configs(group, "readers"))
show("level of a logger", lambda: [v for v in configs(ConfigResourceType.BROKER_LOGGER, "1")() if v[0] == "kafka.server.KafkaApis"])
show("set of logger", alter(ConfigResourceType.BROKER_LOGGER, "1", **{"kafka.server.KafkaApis": "DEBUG"}))
show("level of a logger then", lambda: [v for v in configs(ConfigResourceType.BROKER_LOGGER, "1")() if v[0] == "kafka.server.KafkaApis"])
show("set of metrics", alter(ConfigResourceType.CLIENT_METRICS, "all", **{"metrics": "org.apache.kafka.producer."}))
show("set invalid of metrics", alter(ConfigResourceType.CLIENT_METRICS, "all", **{"interval.ms": "1"}))
show("configs of metrics", configs(ConfigResourceType.CLIENT_METRICS, "all"))
show("reset", lambda: admin.reset_configs([ConfigResource(topic, "orders", configs=["max.message.bytes"])]))
show("set of broker", alter(broker, "1", **{"log.cleaner.threads": "2"}))
show("delete of broker", alter(broker, "1", **{"log.cleaner.threads": ("DELETE", None)}))
show("set of group", alter(group, "readers", **{"consumer.session.timeout.ms": "50000"}))
show("set invalid of group", alter(group, "readers", **{"consumer.session.timeout.ms": "1"}))
show("alter the old way", lambda: admin.alter_configs([ConfigResource(topic, "assigned", configs={"retention.ms": "5000000"})], incremental=False))
show("resources", admin.list_config_resources)
show("configs of topic then", configs(topic, "orders", "modified"))

producer = KafkaProducer(bootstrap_servers=addr)
for n in range(10):
    producer.send("orders", str(n).encode(), str(n).encode(), partition=0, timestamp_ms=time + (n * 7 % 10) * 1000).get(20)
producer.close()
show("earliest", offsets(-2))
show("latest", offsets(-1))
show("of the newest", offsets(-3))
show("of a time", offsets(time + 5000))
show("earliest local", offsets(-4))
show("latest tiered", offsets(-5))
show("delete records", lambda: admin.delete_records({first: 3}))
show("delete too many records", lambda: admin.delete_records({first: 99}))
show("elect", lambda: admin.elect_leaders(0, {"orders": [0]}, raise_errors=False))
show("reassignments", admin.list_partition_reassignments)
show("reassign", lambda: admin.alter_partition_reassignments({first: [1]}))
show("reassign to unknown", lambda: admin.alter_partition_reassignments({first: [9]}))
show("cancel reassignment", lambda: admin.alter_partition_reassignments({first: None}))
for n in range(4):
    show("move", lambda: admin.alter_replica_log_dirs({TopicPartitionReplica("orders", n, 1): other}))
    show("move", lambda: admin.alter_replica_log_dirs({TopicPartitionReplica("assigned", n, 1): one}))
show("move nowhere", lambda: admin.alter_replica_log_dirs({TopicPartitionReplica("orders", 0, 1): "/no/such/dir"}))


def moving():
    return [p for b in admin.describe_log_dirs() for d in b["log_dirs"] for t in d["topics"] for p in t["partitions"] if p["is_future_key"]]


while moving():
    sleep(0.01)
show("log dirs", lambda: [(d["log_dir"], d["error_code"], d["total_bytes"] > 0, d["usable_bytes"] > 0, sorted((t["name"], len(t["partitions"])) for t in d["topics"]))
                          for b in admin.describe_log_dirs() for d in b["log_dirs"]])
show("features", admin.describe_features)
show("quorum", lambda: sorted(admin.describe_metadata_quorum()))

show("update unknown feature", lambda: admin.update_features({"no.such": (UpdateFeatureType.UPGRADE, 1)}, validate_only=True))
show("update feature too far", lambda: admin.update_features({"group.version": (UpdateFeatureType.UPGRADE, 99)}, validate_only=True))
show("downgrade feature", lambda: admin.update_features({"group.version": (UpdateFeatureType.SAFE_DOWNGRADE, 0)}, validate_only=True))
pattern = ResourcePattern(ResourceType.TOPIC, "orders")
show("acls", lambda: admin.describe_acls(ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY))))
show("create acl", lambda: admin.create_acls([ACL("User:someone", "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)]))
show("delete acl", lambda: admin.delete_acls([ACLFilter("User:someone", None, ACLOperation.ANY, ACLPermissionType.ANY, ResourcePatternFilter(ResourceType.TOPIC, "orders", ACLResourcePatternType.LITERAL))]))
show("set credentials", lambda: admin.alter_user_scram_credentials([UserScramCredentialUpsertion("someone", "SCRAM-SHA-256", "secret", 4096, b"salt")]))
show("set weak credentials", lambda: admin.alter_user_scram_credentials([UserScramCredentialUpsertion("weak", "SCRAM-SHA-512", "secret", 10, b"salt")]))
show("credentials", admin.describe_user_scram_credentials)
show("credentials of unknown user", lambda: admin.describe_user_scram_credentials(["someone", "nobody"]))
show("delete credentials", lambda: admin.alter_user_scram_credentials([UserScramCredentialDeletion("someone", "SCRAM-SHA-256")]))
show("delete credentials not there", lambda: admin.alter_user_scram_credentials([UserScramCredentialDeletion("someone", "SCRAM-SHA-512")]))

ready(lambda: admin.list_group_offsets(["reset"]))
show("set offsets of new group", lambda: admin.alter_group_offsets("reset", {first: OffsetAndMetadata(5, "here", -1)}))
show("offsets", lambda: admin.list_group_offsets(["reset"]))
show("offsets of unknown group", lambda: admin.list_group_offsets(["missing"]))
show("describe groups", lambda: admin.describe_groups(["reset", "missing"]))
consumer = KafkaConsumer("orders", bootstrap_servers=addr, group_id="of-classic", client_id="member", auto_offset_reset="earliest", enable_auto_commit=False)
while not consumer.poll(timeout_ms=20000):  # a poll whose time ends while the member joins forgets that it has joined, for good
    pass
consumer.commit()
show("describe group of members", lambda: admin.describe_groups(["of-classic"], include_authorized_operations=True))
show("set offsets of members", lambda: admin.alter_group_offsets("of-classic", {first: OffsetAndMetadata(5, "", -1)}))
show("delete group of members", lambda: admin.delete_groups(["of-classic"]))
consumer.close()
show("reset offsets", lambda: admin.reset_group_offsets("of-classic", {first: OffsetSpec.EARLIEST}))
show("offsets then", lambda: admin.list_group_offsets(["of-classic"]))
show("remove unknown member", lambda: admin.remove_group_members("of-classic", [MemberToRemove(group_instance_id="nobody")]))
show("empty groups", lambda: sorted(line(g) for g in admin.list_groups(states_filter=["Empty"])))
show("groups of the new protocol", lambda: sorted(line(g) for g in admin.list_groups(types_filter=["consumer"])))
show("groups", lambda: sorted(line(g) for g in admin.list_groups()))
show("delete offsets", lambda: admin.delete_group_offsets("reset", [first]))
show("delete groups", lambda: admin.delete_groups(["reset", "of-classic", "missing"]))
seller = KafkaProducer(bootstrap_servers=addr, transactional_id="seller")
seller.init_transactions()
seller.begin_transaction()
second = TopicPartition("orders", 1)
seller.send("orders", b"k", b"v", partition=1).get(20)


def writers():
    return [p for state in admin.describe_producers([second]).values() for p in state.active_producers]


def transaction(which):
    t = admin.describe_transactions([which])[which]
    return [t.state, t.transaction_timeout_ms, t.producer_epoch, sorted(t.topic_partitions)]


def transactions(**which):
    return lambda: [(t.transactional_id, t.state) for b in admin.list_transactions(**which).values() for t in b]


show("transactions", transactions())
show("transactions by state", transactions(state_filters=["Empty"]))
show("transactions by pattern", transactions(transactional_id_pattern="s.*"))
show("transactions by wrong pattern", transactions(transactional_id_pattern="["))
show("transaction", lambda: transaction("seller"))
show("unknown transaction", lambda: transaction("missing"))
show("producers", lambda: [(p.producer_epoch, p.last_sequence, p.coordinator_epoch, p.current_transaction_start_offset) for p in writers()])
writer = writers()[0]
show("abort with old epoch", lambda: admin.abort_transaction(AbortTransactionSpec(second, writer.producer_id, writer.producer_epoch - 1, 0)))
show("abort", lambda: admin.abort_transaction(AbortTransactionSpec(second, writer.producer_id, writer.producer_epoch, 0)))
show("producers then", lambda: [(p.producer_epoch, p.last_sequence, p.current_transaction_start_offset) for p in writers()])
show("hanging transactions", admin.find_hanging_transactions)
seller.abort_transaction()
seller.close()
show("delete topics", lambda: admin.delete_topics(["orders", "assigned"]))
show("topics in the end", lambda: sorted(admin.list_topics()))
admin.close()
