"""Copies a topic in transactions of librdkafka until it is killed: ADDRESS IN OUT GROUP TRANSACTIONAL-ID.

Each value comes out as "<" value ">". What cannot go on ends the process; the next one with the same transactional id
takes over.

Brokers are looked up again in place ("none"): with the default, librdkafka gives up the group coordinator at a restart of
the only broker and send_offsets_to_transaction waits for it for ever (confluentinc/librdkafka#5511).
"""

import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

addr, source, target, group, transactional_id = sys.argv[1:6]

consumer = Consumer({
    "bootstrap.servers": addr, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
    "isolation.level": "read_committed", "session.timeout.ms": 2000, "heartbeat.interval.ms": 300,
    "reconnect.backoff.max.ms": 200, "metadata.recovery.strategy": "none", "fetch.wait.max.ms": 50,
})
producer = Producer({
    "bootstrap.servers": addr, "transactional.id": transactional_id, "linger.ms": 2, "transaction.timeout.ms": 30000,
    "reconnect.backoff.max.ms": 200, "metadata.recovery.strategy": "none", "retry.backoff.ms": 20,
})


def again(step):
    """Takes a step, again as long as the client says that this helps."""
    while True:
        try:
            return step()
        except KafkaException as e:
            if not e.args[0].retriable():
                raise


def rewind():
    """Goes back to what the group has committed."""
    for tp in again(lambda: consumer.committed(consumer.assignment(), 20)):
        consumer.seek(TopicPartition(tp.topic, tp.partition, max(tp.offset, 0)))


def copy(messages):
    producer.begin_transaction()
    for m in messages:
        producer.produce(target, b"<" + m.value() + b">")
    offsets = {}
    for m in messages:
        offsets[m.topic(), m.partition()] = m.offset() + 1
    positions = [TopicPartition(t, p, o) for (t, p), o in offsets.items()]
    again(lambda: producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), 20))
    again(lambda: producer.commit_transaction(20))


again(lambda: producer.init_transactions(30))
consumer.subscribe([source])
while True:
    messages = [m for m in consumer.consume(20, 0.2) if not m.error()]
    if not messages:
        continue
    try:
        copy(messages)
    except KafkaException as e:
        if not e.args[0].txn_requires_abort():
            sys.exit(f"copying ends: {e}")
        again(lambda: producer.abort_transaction(20))
        rewind()
