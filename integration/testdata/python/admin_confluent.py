"""A round through librdkafka's AdminClient: ADDRESS, two log dirs, the time of the first record, and a pause after each call. Each call prints its name and what came of it."""
import sys
from time import sleep
from enum import Enum

from confluent_kafka import ConsumerGroupTopicPartitions, Consumer, ConsumerGroupState, ConsumerGroupType, ElectionType, IsolationLevel, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AclBinding, AclBindingFilter, AclOperation, AclPermissionType, AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
    OffsetSpec, ResourcePatternType, ResourceType, ScramCredentialInfo, ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion)

addr, time, pause = sys.argv[1], int(sys.argv[4]), int(sys.argv[5])
admin = AdminClient({"bootstrap.servers": addr, "socket.timeout.ms": 20000})


def line(value):
    """A value in one line that does not change from run to run."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{line(k)}: {line(v)}" for k, v in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(line(v) for v in value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(line(v) for v in value) + "]"
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else str(value)
    if not isinstance(value, type) and getattr(value, "__dict__", None) and type(value).__module__.startswith("confluent_kafka"):
        return type(value).__name__ + line({k: v for k, v in vars(value).items() if not k.endswith("_as_int")})
    if isinstance(value, TopicPartition):
        return f"{value.topic}[{value.partition}]@{value.offset} {value.metadata} {value.error}"
    return str(value)


def show(name, call):
    """Prints what a call returns, waiting for futures."""
    print("==", name)
    try:
        result = call()
        for key, future in sorted(result.items(), key=lambda item: str(item[0])) if isinstance(result, dict) else [("", result)]:
            try:
                print(line(key), line(future.result() if hasattr(future, "result") else future))
            except KafkaException as failure:
                print(line(key), failure.args[0].code(), failure.args[0].name(), failure.args[0].str())
    except KafkaException as failure:
        print(failure.args[0].code(), failure.args[0].name(), failure.args[0].str())
    except ValueError as failure:
        print(failure)
    sleep(pause / 1000)  # Apache Kafka answers before all of it has seen a change


def ready(call, then):
    """Calls until no coordinator is loading any more."""
    while True:
        try:
            call()
            return then
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise
        sleep(0.05)


def configs(kind, name):
    return lambda: {r: sorted((e.name, e.value, e.source, e.is_read_only, e.is_default, e.is_sensitive, sorted((s.name, s.value, s.source) for s in e.synonyms.values()))
                              for e in f.result().values()) for r, f in admin.describe_configs([ConfigResource(kind, name)]).items()}


def alter(kind, name, op, key, value):
    entry = ConfigEntry(key, value, incremental_operation=op)
    return lambda: admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])])


def offsets(spec):
    return lambda: admin.list_offsets({TopicPartition("orders", 0): spec})


def topics():
    metadata = admin.list_topics(timeout=20)
    return line({t.topic: [(p.id, p.leader, p.replicas, p.isrs, str(p.error)) for p in t.partitions.values()] for t in metadata.topics.values()}), line(
        metadata.brokers), metadata.controller_id


topic, broker, group = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
show("cluster", lambda: admin.describe_cluster(include_authorized_operations=True))
show("create", lambda: admin.create_topics([NewTopic("orders", 3, 1, config={"retention.ms": "3600000"}), NewTopic("assigned", replica_assignment=[[1], [1]], num_partitions=2)]))
show("create again", lambda: admin.create_topics([NewTopic("orders", 3, 1)]))
show("validate", lambda: admin.create_topics([NewTopic("never", 3, 1)], validate_only=True))
show("create wrongly", lambda: admin.create_topics([NewTopic("three", 1, 3), NewTopic("a/b", 1, 1), NewTopic("bad", 1, 1, config={"no.such": "1"}),
                                                   NewTopic("worse", 1, 1, config={"retention.ms": "soon"})]))
show("list", topics)
show("describe", lambda: admin.describe_topics(TopicCollection(["orders", "missing"]), include_authorized_operations=True))
show("more partitions", lambda: admin.create_partitions([NewPartitions("orders", 4)]))
show("fewer partitions", lambda: admin.create_partitions([NewPartitions("orders", 1), NewPartitions("missing", 2)]))
show("configs of topic", configs(topic, "orders"))
show("configs of broker", configs(broker, "1"))
show("configs of unknown topic", configs(topic, "missing"))
show("configs of group", configs(group, "readers"))
show("set", alter(topic, "orders", AlterConfigOpType.SET, "max.message.bytes", "2000000"))
show("append", alter(topic, "orders", AlterConfigOpType.APPEND, "cleanup.policy", "compact"))
show("delete", alter(topic, "orders", AlterConfigOpType.DELETE, "retention.ms", None))
show("subtract", alter(topic, "orders", AlterConfigOpType.SUBTRACT, "cleanup.policy", "compact"))
show("append to number", alter(topic, "orders", AlterConfigOpType.APPEND, "retention.bytes", "1"))
show("set of unknown topic", alter(topic, "missing", AlterConfigOpType.SET, "retention.ms", "1"))
show("set unknown", alter(topic, "orders", AlterConfigOpType.SET, "no.such", "1"))
show("set invalid", alter(topic, "orders", AlterConfigOpType.SET, "cleanup.policy", "shred"))
show("set of broker", alter(broker, "1", AlterConfigOpType.SET, "log.cleaner.threads", "2"))
show("set static of broker", alter(broker, "1", AlterConfigOpType.SET, "node.id", "2"))
show("delete of broker", alter(broker, "1", AlterConfigOpType.DELETE, "log.cleaner.threads", None))
show("set invalid of group", alter(group, "readers", AlterConfigOpType.SET, "consumer.session.timeout.ms", "1"))
show("set of group", alter(group, "readers", AlterConfigOpType.SET, "consumer.session.timeout.ms", "50000"))
show("alter the old way", lambda: admin.alter_configs([ConfigResource(topic, "assigned", set_config={"retention.ms": "5000000"})]))
show("alter the old way wrongly", lambda: admin.alter_configs([ConfigResource(topic, "assigned", set_config={"no.such": "1"})]))
show("configs of group then", configs(group, "readers"))
show("configs of topic then", configs(topic, "orders"))
show("configs of assigned then", configs(topic, "assigned"))

producer = Producer({"bootstrap.servers": addr})
for n in range(10):
    producer.produce("orders", str(n), str(n), partition=0, timestamp=time + (n * 7 % 10) * 1000)
    producer.flush()
show("earliest", offsets(OffsetSpec.earliest()))
show("latest", offsets(OffsetSpec.latest()))
show("of the newest", offsets(OffsetSpec.max_timestamp()))
show("of a time", offsets(OffsetSpec.for_timestamp(time + 5000)))
show("latest committed", lambda: admin.list_offsets({TopicPartition("orders", 0): OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED))
show("of unknown partition", lambda: admin.list_offsets({TopicPartition("orders", 9): OffsetSpec.latest()}, request_timeout=2))
show("of a time after all", offsets(OffsetSpec.for_timestamp(time + 86_400_000)))
show("delete records", lambda: admin.delete_records([TopicPartition("orders", 0, 3)]))
show("delete too many records", lambda: admin.delete_records([TopicPartition("orders", 0, 99)]))
show("elect unclean", lambda: admin.elect_leaders(ElectionType.UNCLEAN, [TopicPartition("orders", 0)]))
show("elect all", lambda: admin.elect_leaders(ElectionType.PREFERRED))
show("elect", lambda: admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("orders", 0), TopicPartition("missing", 0)]))
show("acls", lambda: admin.describe_acls(AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)))

binding = AclBinding(ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, "User:someone", "*", AclOperation.READ, AclPermissionType.ALLOW)
show("create acl", lambda: admin.create_acls([binding]))
show("delete acl", lambda: admin.delete_acls([AclBindingFilter(ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, None, None, AclOperation.ANY, AclPermissionType.ANY)]))
show("set credentials", lambda: admin.alter_user_scram_credentials([UserScramCredentialUpsertion("someone", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"secret", b"salt")]))
show("set weak credentials", lambda: admin.alter_user_scram_credentials([UserScramCredentialUpsertion("weak", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 10), b"secret", b"salt")]))
show("credentials", lambda: admin.describe_user_scram_credentials())
show("credentials of unknown user", lambda: admin.describe_user_scram_credentials(["someone", "nobody"]))
show("delete credentials", lambda: admin.alter_user_scram_credentials([UserScramCredentialDeletion("someone", ScramMechanism.SCRAM_SHA_256)]))
show("delete credentials not there", lambda: admin.alter_user_scram_credentials([UserScramCredentialDeletion("someone", ScramMechanism.SCRAM_SHA_512)]))

# The first request for a coordinator has its topic made.
show("first coordinator", lambda: ready(lambda: admin.describe_consumer_groups(["reset"])["reset"].result(), "described"))
show("set offsets of new group", lambda: admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions("reset", [TopicPartition("orders", 0, 5)])]))
show("offsets", lambda: admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("reset")]))
show("offsets of unknown group", lambda: admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("missing")]))
show("describe groups", lambda: admin.describe_consumer_groups(["reset", "missing"]))
for protocol in "classic", "consumer":
    consumer = Consumer({"bootstrap.servers": addr, "group.id": "of-" + protocol, "group.protocol": protocol, "client.id": "member", "auto.offset.reset": "earliest",
                         "enable.auto.commit": False})
    consumer.subscribe(["orders"])
    while (message := consumer.poll(0.1)) is None or message.error():
        pass
    consumer.commit(message, asynchronous=False)
    show("describe group of " + protocol, lambda: admin.describe_consumer_groups(["of-" + protocol], include_authorized_operations=True))
    show("set offsets of members", lambda: admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions("of-" + protocol, [TopicPartition("orders", 0, 5)])]))
    show("delete group of members", lambda: admin.delete_consumer_groups(["of-" + protocol]))
    consumer.close()
def groups(**which):
    return lambda: sorted(line(g) for g in admin.list_consumer_groups(**which).result().valid)


show("groups", groups())
show("empty groups", groups(states={ConsumerGroupState.EMPTY}))
show("stable groups", groups(states={ConsumerGroupState.STABLE}))
show("groups of the new protocol", groups(types={ConsumerGroupType.CONSUMER}))
show("groups the old way", lambda: sorted((g.id, str(g.error), g.state, g.protocol_type, g.protocol, len(g.members)) for g in admin.list_groups(timeout=20)))
show("delete groups", lambda: admin.delete_consumer_groups(["reset", "of-classic", "of-consumer", "missing"]))
show("delete topics", lambda: admin.delete_topics(["orders", "assigned", "missing"]))
show("topics in the end", lambda: sorted(t for t in admin.list_topics(timeout=20).topics))
