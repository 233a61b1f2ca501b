"""kafka-python: does each of the five actions once."""
import os
import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from actions import Missing, attempt, gone, read, there, values

address, topic = sys.argv[1:3]


def producer(**more):
    return KafkaProducer(bootstrap_servers=address, acks="all", **more)


def consumer(*topics, **more):
    return KafkaConsumer(*topics, bootstrap_servers=address, auto_offset_reset="earliest", enable_auto_commit=False, **more)


def send(p, to, all_values):
    for future in [p.send(to, v.encode()) for v in all_values]:
        if future.get(20).offset < 0:
            raise AssertionError("no offset")


def poll(c):
    return lambda: [r.value.decode() for rs in c.poll(timeout_ms=500).values() for r in rs]


def assign_all(c, of):
    c.topics()  # old releases know partitions only after this
    parts = [TopicPartition(of, p) for p in c.partitions_for_topic(of)]
    c.assign(parts)
    c.seek_to_beginning(*parts)


def admin():
    try:
        from kafka.admin import KafkaAdminClient, NewTopic
    except ImportError:
        raise Missing("no admin client")
    a = KafkaAdminClient(bootstrap_servers=address)
    a.create_topics([NewTopic(topic, 2, 1), NewTopic(topic + "-gone", 1, 1)])
    there(lambda: topic + "-gone" in consumer().topics())
    a.delete_topics([topic + "-gone"])
    gone(lambda: topic + "-gone" in consumer().topics())
    a.close()


def produce():
    p = producer()
    send(p, topic, values("a"))
    p.close()


def consume():
    c = consumer(group_id=None)
    assign_all(c, topic)
    read(poll(c), values("a"))
    c.close()


def group():
    for prefix in "ab":
        if prefix == "b":
            p = producer()
            send(p, topic, values("b"))
            p.close()
        c = consumer(topic, group_id=topic + "-group")
        read(poll(c), values(prefix))
        c.commit()
        c.close()


def transaction():
    if not hasattr(KafkaProducer, "begin_transaction"):
        raise Missing("no transactions")
    p = producer(transactional_id=topic)
    p.init_transactions()
    p.begin_transaction()
    send(p, topic + "-txn", values("no", 5))
    p.abort_transaction()
    p.begin_transaction()
    send(p, topic + "-txn", values("yes", 5))
    p.commit_transaction()
    p.close()
    c = consumer(group_id=None, isolation_level="read_committed")
    assign_all(c, topic + "-txn")
    read(poll(c), values("yes", 5))
    c.close()


for action in (admin, produce, consume, group, transaction):
    attempt(action.__name__, action)
os._exit(0)
