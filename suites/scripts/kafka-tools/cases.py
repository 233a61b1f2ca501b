"""Runs Kafka's tools against a broker and prints a line for each case: ok NAME, or fail NAME: words."""
import concurrent.futures
import re
import sys
import time

import groups
import performance
from tools import Tools, acked, records, same


def producing(*args, offsets=True):
    """All that is sent is acknowledged, and consumed at the places that were acknowledged."""
    def case(tools, topic):
        tool = tools.run("VerifiableProducer", "--bootstrap-server", tools.address, "--topic", topic, "--max-messages", 2000, *args)
        sent = acked(tool, 2000, offsets)
        seen = tools.consume(topic, topic, 2000)
        if offsets:
            same(seen, sent, "consumed")
        else:
            same(sorted(seen), sorted(sent), "values consumed")
    return case


def with_config(*lines):
    """The case with a file of client settings."""
    def case(tools, topic):
        path = "config-" + topic
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        producing("--command-config", path)(tools, topic)
    return case


def keyed(tools, topic):
    """Repeating keys: one partition for each key; prefix and time of creation arrive."""
    sent = tools.produce(topic, 2000, "--repeating-keys", 7, "--value-prefix", 4, "--message-create-time", 1600000000000)
    tool = tools.consumer(topic, topic, "--max-messages", 2000)
    same(tool.end(), 0, "exit code")
    same(records([tool]), sent, "consumed")
    places = {}
    for e in tool.events("record_data"):
        places.setdefault(e["key"], set()).add(e["partition"])
        same(e["value"].split(".")[0], "4", "prefix")
    same(sorted(places), [str(i) for i in range(7)], "keys")
    same({k: len(p) for k, p in places.items()}, {k: 1 for k in places}, "partitions of each key")


def reset_latest(tools, topic):
    """A group that begins at the end sees only what is sent later."""
    tools.produce(topic, 300)
    consumer = tools.consumer(topic, topic, "--reset-policy", "latest", "--enable-autocommit")
    consumer.wait("assignment", lambda t: t.events("partitions_assigned"))
    # positions are looked up after the assignment: send until something arrives, then all that follows must
    n = 0
    while not consumer.events("record_data"):
        tools.produce(topic, 1, "--value-prefix", 100 + n)
        n += 1
    sent = tools.produce(topic, 300, "--value-prefix", 99)
    consumer.wait("records", lambda t: sum(e["value"].startswith("99.") for e in t.events("record_data")) == 300)
    consumer.stop()
    seen = records([consumer])
    same({v: p for v, p in seen.items() if v.startswith("99.")}, sent, "consumed")
    same([v for v in seen if "." not in v], [], "consumed of what was there before")


def reset_none(tools, topic):
    """A group without offsets and without a policy is told so."""
    tools.produce(topic, 10)
    tool = tools.consumer(topic, topic, "--reset-policy", "none", "--max-messages", 10)
    tool.end()
    same(any("NoOffsetForPartition" in l for l in tool.lines), True, "NoOffsetForPartitionException printed")


def auto_commit(tools, topic):
    """A second consumer of the group goes on where the first ended."""
    first = tools.produce(topic, 500)
    same(tools.consume(topic, topic, 500, "--enable-autocommit"), first, "consumed first")
    second = tools.produce(topic, 500, "--value-prefix", 2)
    same(tools.consume(topic, topic, 500, "--enable-autocommit"), second, "consumed then")


def steady():
    cases = {
        "producer/defaults": producing(),
        "producer/acks=1": producing("--acks", 1),
        "producer/acks=0": producing("--acks", 0, offsets=False),
        "producer/idempotence=false": with_config("enable.idempotence=false"),
        "producer/small-batches": with_config("batch.size=200", "linger.ms=0", "max.in.flight.requests.per.connection=5"),
        "producer/keys": keyed,
        "consumer/reset-latest": reset_latest,
        "consumer/reset-none": reset_none,
        "consumer/auto-commit": auto_commit,
    }
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        cases["producer/" + codec] = with_config("compression.type=" + codec)
    return {**cases, **groups.steady(), **performance.steady()}


def main(libs, address, logging, which):
    cases = steady() if which == "steady" else {**groups.restarts(), **performance.restarts()}
    stamp = str(time.time_ns())

    def one(name):
        tools = Tools(libs, address, logging)
        try:
            cases[name](tools, re.sub("[^a-zA-Z0-9._-]", "-", name) + "-" + stamp)
        except Exception as e:  # every other case goes on
            print(f"fail {name}: {type(e).__name__}: {e}".replace("\n", " "), flush=True)
        else:
            print("ok " + name, flush=True)
        finally:
            tools.close()

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(one, cases))


if __name__ == "__main__":
    main(*sys.argv[1:])
