"""confluent-kafka: does each of the five actions once."""
import os
import sys

from confluent_kafka import Consumer, Producer, TopicPartition, OFFSET_BEGINNING, KafkaError

from actions import Missing, attempt, gone, read, there, values

address, topic = sys.argv[1:3]


def producer(**more):
    return Producer(dict({"bootstrap.servers": address, "acks": "all"}, **more))


def consumer(group, **more):
    return Consumer(dict({"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest",
                          "enable.auto.commit": False}, **more))


def send(p, to, all_values):
    came = []
    for v in all_values:
        p.produce(to, v, on_delivery=lambda err, msg: came.append(err or msg.offset()))
    p.flush(20)
    if len(came) != len(all_values) or any(not isinstance(c, int) or c < 0 for c in came):
        raise AssertionError("not delivered: %s" % [str(c) for c in came if not isinstance(c, int)][:1])


def poll(c):
    def once():
        m = c.poll(0.5)
        if m is None:
            return []
        if m.error():
            if m.error().code() in (KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART):
                return []
            raise AssertionError(str(m.error()))
        return [m.value().decode()]
    return once


def assign_all(c, of):
    c.assign([TopicPartition(of, p, OFFSET_BEGINNING) for p in c.list_topics(of, 10).topics[of].partitions])


def admin():
    try:
        from confluent_kafka.admin import AdminClient, NewTopic
    except ImportError:
        raise Missing("no admin client")
    a = AdminClient({"bootstrap.servers": address})
    for f in a.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1), NewTopic(topic + "-gone", num_partitions=1, replication_factor=1)], validate_only=False).values():
        f.result(20)
    there(lambda: topic + "-gone" in a.list_topics(timeout=10).topics)
    for f in a.delete_topics([topic + "-gone"]).values():
        f.result(20)
    gone(lambda: topic + "-gone" in a.list_topics(timeout=10).topics)


def produce():
    send(producer(), topic, values("a"))


def consume():
    c = consumer(topic + "-none")
    assign_all(c, topic)
    read(poll(c), values("a"))
    c.close()


def group():
    for prefix in "ab":
        if prefix == "b":
            send(producer(), topic, values("b"))
        c = consumer(topic + "-group")
        c.subscribe([topic])
        read(poll(c), values(prefix))
        c.commit(asynchronous=False)
        c.close()


def transaction():
    if not hasattr(Producer, "begin_transaction"):
        raise Missing("no transactions")
    p = producer(**{"transactional.id": topic})
    p.init_transactions(20)
    p.begin_transaction()
    send(p, topic + "-txn", values("no", 5))
    p.abort_transaction(20)
    p.begin_transaction()
    send(p, topic + "-txn", values("yes", 5))
    p.commit_transaction(20)
    c = consumer(topic + "-none", **{"isolation.level": "read_committed"})
    assign_all(c, topic + "-txn")
    read(poll(c), values("yes", 5))
    c.close()


for action in (admin, produce, consume, group, transaction):
    attempt(action.__name__, action)
os._exit(0)
