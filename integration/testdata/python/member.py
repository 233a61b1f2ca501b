"""A member of a consumer group with librdkafka. It prints each value that it reads, commits its offset, and leaves at the
end of standard input. Arguments: address, topic, group, protocol (classic or consumer), instance id (may be empty)."""
import sys
import threading

from confluent_kafka import Consumer, KafkaException

addr, topic, group, protocol, instance = sys.argv[1:6]
settings = {
    "bootstrap.servers": addr,
    "group.id": group,
    "group.protocol": protocol,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}
if protocol == "classic":
    settings |= {"session.timeout.ms": 3000, "heartbeat.interval.ms": 300}
if instance:
    settings["group.instance.id"] = instance
ending = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ending.set()), daemon=True).start()
consumer = Consumer(settings)
consumer.subscribe([topic])
while not ending.is_set():
    message = consumer.poll(0.1)
    if message is None:
        continue
    if message.error():
        print(message.error(), file=sys.stderr, flush=True)
        continue
    print(message.value().decode(), flush=True)
    try:
        consumer.commit(message, asynchronous=False)
    except KafkaException as failure:
        print(failure, file=sys.stderr, flush=True)
consumer.close()
