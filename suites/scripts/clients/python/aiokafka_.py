"""aiokafka: does each of the five actions once."""
import asyncio
import inspect
import os
import sys

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

# old releases want to be told the loop
if "loop" in inspect.signature(AIOKafkaProducer.__init__).parameters and sys.version_info < (3, 10):
    NewProducer, NewConsumer = AIOKafkaProducer, AIOKafkaConsumer

    def AIOKafkaProducer(**more):
        return NewProducer(loop=asyncio.get_event_loop(), **more)

    def AIOKafkaConsumer(*topics, **more):
        return NewConsumer(*topics, loop=asyncio.get_event_loop(), **more)

from actions import Missing, attempt, values

address, topic = sys.argv[1:3]


def producer(**more):
    return AIOKafkaProducer(bootstrap_servers=address, acks="all", **more)


def consumer(*topics, **more):
    return AIOKafkaConsumer(*topics, bootstrap_servers=address, auto_offset_reset="earliest", enable_auto_commit=False, **more)


async def send(p, to, all_values):
    for v in all_values:
        if (await p.send_and_wait(to, v.encode())).offset < 0:
            raise AssertionError("no offset")


async def read(c, want):
    got, end = [], asyncio.get_event_loop().time() + 30
    last = False
    while not last and asyncio.get_event_loop().time() < end:
        last = len(got) >= len(want)
        for rs in (await c.getmany(timeout_ms=500)).values():
            got += [r.value.decode() for r in rs]
    if sorted(got) != sorted(want):
        raise AssertionError("read %s, not %s" % (sorted(got), sorted(want)))


async def read_all(of, want, **more):
    c = consumer(group_id=None, **more)
    await c.start()
    parts = [TopicPartition(of, p) for p in c.partitions_for_topic(of) or await c._client._metadata_update(c._client.cluster, [of]) and c.partitions_for_topic(of)]
    c.assign(parts)
    await c.seek_to_beginning(*parts)
    await read(c, want)
    await c.stop()


async def admin():
    try:
        from aiokafka.admin import AIOKafkaAdminClient, NewTopic
    except ImportError:
        raise Missing("no admin client")
    a = AIOKafkaAdminClient(bootstrap_servers=address)
    await a.start()
    await a.create_topics([NewTopic(topic, 2, 1), NewTopic(topic + "-gone", 1, 1)])
    for i in range(100):
        if topic + "-gone" in await a.list_topics():
            break
        await asyncio.sleep(0.05)
    else:
        raise AssertionError("a new topic is not listed")
    await a.delete_topics([topic + "-gone"])
    for i in range(100):
        if topic + "-gone" not in await a.list_topics():
            break
        await asyncio.sleep(0.05)
    else:
        raise AssertionError("a deleted topic stays")
    await a.close()


async def produce():
    p = producer()
    await p.start()
    await send(p, topic, values("a"))
    await p.stop()


async def consume():
    await read_all(topic, values("a"))


async def group():
    for prefix in "ab":
        if prefix == "b":
            p = producer()
            await p.start()
            await send(p, topic, values("b"))
            await p.stop()
        c = consumer(topic, group_id=topic + "-group")
        await c.start()
        await read(c, values(prefix))
        await c.commit()
        await c.stop()


async def transaction():
    if not hasattr(aiokafka.AIOKafkaProducer, "begin_transaction"):
        raise Missing("no transactions")
    p = producer(transactional_id=topic)
    await p.start()
    await p.begin_transaction()
    await send(p, topic + "-txn", values("no", 5))
    await p.abort_transaction()
    await p.begin_transaction()
    await send(p, topic + "-txn", values("yes", 5))
    await p.commit_transaction()
    await p.stop()
    await read_all(topic + "-txn", values("yes", 5), isolation_level="read_committed")


for action in (admin, produce, consume, group, transaction):
    def run(action=action):
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.run_until_complete(action())
    attempt(action.__name__, run)
os._exit(0)
