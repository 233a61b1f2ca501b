"""Kafka's performance tools, end-to-end latency and the transactional copier: what they say they did is there."""
from tools import acked, records, same


def consumed(tools, topic, count, *settings):
    """kafka-consumer-perf-test finds count records, and none beyond them in the polls that it takes for them."""
    args = ["--bootstrap-server", tools.address, "--topic", topic, "--hide-header", "--num-records", count, "--timeout", 60000,
            "--group", topic + "-perf"]
    for s in settings:
        args += ["--command-property", s]
    tool = tools.run("ConsumerPerformance", *args)
    rows = [l.split(", ") for l in tool.lines if l.count(", ") >= 9]
    same(int(rows[-1][4]), count, "records consumed")


def perf(*args, count=5000, size=("--record-size", 200), settings=()):
    def case(tools, topic):
        tool = tools.run("ProducerPerformance", "--bootstrap-server", tools.address, "--topic", topic, "--num-records", count,
                         "--throughput", -1, *size, *args)
        same(tool.number(r"^(\d+) records sent, .*99.9th\.?$"), count, "records sent")
        consumed(tools, topic, count, *settings)
    return case


def monotonic(tools, topic):
    perf(size=("--payload-monotonic",))(tools, topic)
    seen = tools.consume(topic, topic + "-values", 5000)
    same(sorted(seen, key=int), [str(i) for i in range(5000)], "values")


def payload_file(tools, topic):
    with open("payload-" + topic, "w") as f:
        f.write("one,two words,drei,\u00fcber")
    perf(size=("--payload-file", f.name, "--payload-delimiter", ","))(tools, topic)
    tool = tools.consumer(topic, topic + "-values", "--max-messages", 5000)
    same(tool.end(), 0, "exit code")
    same({e["value"] for e in tool.events("record_data")}, {"one", "two words", "drei", "\u00fcber"}, "payloads")


def transactions(tools, topic):
    """Short transactions; read_committed sees exactly what was sent, read_uncommitted the same."""
    perf("--transactional-id", topic, "--transaction-duration-ms", 100, "--throughput", 4000, count=8000,
         settings=["isolation.level=read_committed"])(tools, topic)
    perf("--transaction-duration-ms", 50, count=8000, settings=["isolation.level=read_uncommitted"])(tools, topic + "-random-id")


def latency(acks, size):
    def case(tools, topic):
        tool = tools.run("EndToEndLatency", tools.address, topic, 300, acks, size)
        if not tool.number(r"^Avg latency: ([\d.]+) ms") > 0:
            raise AssertionError("no latency: " + tool.last())
        tool.number(r"Percentiles: 50th = (\d+)")
        consumed(tools, topic, 300)
    return case


def copier(*args, count=2000, patience=120):
    """Copies in transactions, some of them aborted: read_committed sees each record of the input once."""
    def case(tools, topic):
        source = topic + "-in"
        produce = ["--throughput", 150, *tools.retries(topic)] if patience > 120 else []
        producer = tools.producer(source, "--max-messages", count, *produce)
        same(producer.end(patience), 0, "the producer's exit code")
        sent = acked(producer, count)
        partitions = sorted({p for p, _ in sent.values()})
        if "--group-mode" in args:
            partitions = partitions[:1]  # one copier has them all
        for p in partitions:
            tool = tools.start("TransactionalMessageCopier", "--broker-list", tools.address, "--input-topic", source, "--input-partition", p,
                               "--output-topic", topic, "--consumer-group", topic, "--transactional-id", f"{topic}-{p}",
                               "--transaction-size", 100, *args)
            same(tool.end(patience), 0, "the copier's exit code")
        with open("committed-" + topic, "w") as f:
            f.write("isolation.level=read_committed\n")
        check = tools.consumer(topic, topic + "-check", "--max-messages", count, "--command-config", f.name)
        same(check.end(patience), 0, "exit code")
        same(len(check.events("record_data")), count, "records consumed")
        same(sorted(records([check])), sorted(sent), "values copied")
        consumed(tools, topic, count, "isolation.level=read_committed")
    return case


def steady():
    cases = {"perf/" + name: perf("--command-property", *name.split(",")) for name in
             ("acks=0", "acks=1", "acks=all", "enable.idempotence=false", "compression.type=zstd", "linger.ms=0,batch.size=500")}
    cases["perf/keys"] = perf("--key-distribution", "random", "--record-key-range", 20)
    cases["perf/throughput"] = perf("--throughput", 3000, "--warmup-records", 500)
    cases["perf/large-records"] = perf(size=("--record-size", 200000), count=100)
    cases["perf/payload-monotonic"] = monotonic
    cases["perf/payload-file"] = payload_file
    cases["perf/transactions"] = transactions
    cases["perf/group-protocol=consumer"] = perf(settings=["group.protocol=consumer"])
    for acks in ("1", "all"):
        cases["latency/acks=" + acks] = latency(acks, 100)
    cases["latency/large"] = latency("all", 100000)
    cases["copier/assign"] = copier("--enable-random-aborts")
    cases["copier/group"] = copier("--enable-random-aborts", "--group-mode")
    cases["copier/group-metadata"] = copier("--enable-random-aborts", "--group-mode", "--use-group-metadata")
    return cases


def restarts():
    return {
        "restarts/copier/assign": copier("--enable-random-aborts", count=3000, patience=240),
        "restarts/copier/group-metadata": copier("--enable-random-aborts", "--group-mode", "--use-group-metadata", count=3000, patience=240),
        "restarts/perf/idempotent": perf("--throughput", 300, count=9000),
        "restarts/perf/transactions": perf("--transaction-duration-ms", 200, "--throughput", 300, count=9000, settings=["isolation.level=read_committed"]),
    }
