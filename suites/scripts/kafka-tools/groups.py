"""Groups of verifiable consumers whose members come and go while a verifiable producer sends."""
from tools import acked, committed, records, same

CLASSIC = "org.apache.kafka.clients.consumer."


def assignor(protocol, name, session=10000):
    if protocol == "consumer":
        return ["--group-protocol", "CONSUMER", "--group-remote-assignor", name]
    return ["--group-protocol", "CLASSIC", "--assignment-strategy", CLASSIC + name, "--session-timeout", session]


def one_member(args):
    """A member alone consumes everything; the assignor only has to be taken."""
    def case(tools, topic):
        sent = tools.produce(topic, 1000)
        same(tools.consume(topic, topic, 1000, *args), sent, "consumed")
    return case


def held(tool):
    """The partitions that a member has by now."""
    have = set()
    for e in list(tool.parsed):
        parts = {(p["topic"], p["partition"]) for p in e.get("partitions", []) if "partition" in p}
        if e["name"] == "partitions_assigned":
            have |= parts
        elif e["name"] in ("partitions_revoked", "partitions_lost"):
            have -= parts
    return have


def awaits_split(members, partitions=3):
    """Waits until the members have each partition once, and none has nothing."""
    def split():
        have = [held(m) for m in members]
        return all(have) and sum(map(len, have)) == partitions and len(set().union(*have)) == partitions
    for m in members:
        m.wait("partitions for each of %d members" % len(members), lambda _: split())


def come_and_go(args, kill=True):
    """Members join, leave and are killed while records arrive; the members together see each record, in one place."""
    def case(tools, topic):
        producer = tools.producer(topic, "--throughput", 300, "--max-messages", 6000)
        producer.wait("a record", lambda t: t.events("producer_send_success"))
        members = [tools.consumer(topic, topic, *args)]
        awaits_split(members)
        members.append(tools.consumer(topic, topic, *args))
        awaits_split(members)
        members.append(tools.consumer(topic, topic, *args))
        awaits_split(members)
        members[0].stop()
        awaits_split(members[1:])
        if kill:
            members[1].kill()
            awaits_split(members[2:])
        same(producer.end(), 0, "the producer's exit code")
        sent = acked(producer, 6000)
        members[2].wait("all records", lambda _: len(records(members)) >= 6000)
        for m in members:
            if m.process.poll() is None:
                m.stop()
        same(records(members), sent, "consumed")
        committed(members[2])
        # what the group has committed is all: another member sees only what is sent now
        more = tools.produce(topic, 200, "--value-prefix", 7)
        same(tools.consume(topic, topic, 200, *args), more, "consumed after all had left")
    return case


def static_returns(args):
    """A static member that is killed (in the new protocol: stopped) and returns keeps its partitions; nobody else is disturbed."""
    def case(tools, topic):
        tools.produce(topic, 100)
        one = tools.consumer(topic, topic, "--group-instance-id", "one", *args)
        awaits_split([one])
        two = tools.consumer(topic, topic, "--group-instance-id", "two", *args)
        awaits_split([one, two])
        before, changes = held(two), len(one.events("partitions_assigned"))
        if "CONSUMER" in args:
            two.stop()  # else its instance id is taken until its session ends
        else:
            two.kill()
        again = tools.consumer(topic, topic, "--group-instance-id", "two", *args)
        again.wait("its partitions", lambda t: held(t) == before)
        sent = tools.produce(topic, 300, "--value-prefix", 3)
        again.wait("records", lambda _: set(sent) <= set(records([one, two, again])))
        same(len(one.events("partitions_assigned")), changes, "assignments of the member that stayed")
        again.stop()
        one.stop()
    return case


def static_twice(args):
    """Of two members with one instance id the classic protocol fences the first, the new one the second."""
    def case(tools, topic):
        tools.produce(topic, 100)
        one = tools.consumer(topic, topic, "--group-instance-id", "one", *args)
        awaits_split([one])
        two = tools.consumer(topic, topic, "--group-instance-id", "one", *args)
        new = "CONSUMER" in args
        loser, winner = (two, one) if new else (one, two)
        loser.end()
        word = "UnreleasedInstanceId" if new else "FencedInstanceId"
        same(any(word in l for l in loser.lines), True, word + " printed")
        awaits_split([winner])
        winner.stop()
    return case


def through_restarts(args, limit=180):
    """Two members and an idempotent producer while the broker is restarted: everything arrives, nothing is written twice."""
    def case(tools, topic):
        producer = tools.producer(topic, "--throughput", 150, "--max-messages", 6000, *tools.retries(topic))
        members = [tools.consumer(topic, topic, *args) for _ in range(2)]
        same(producer.end(limit), 0, "the producer's exit code")
        sent = acked(producer, 6000)
        members[0].wait("all records", lambda _: len(records(members)) >= 6000, limit)
        for m in members:
            m.stop()
        same(records(members), sent, "consumed")
    return case


CHOICES = [("classic", "RangeAssignor"), ("classic", "RoundRobinAssignor"), ("classic", "StickyAssignor"),
           ("classic", "CooperativeStickyAssignor"), ("consumer", "uniform"), ("consumer", "range")]


def steady():
    cases = {}
    for protocol, name in CHOICES:
        args = assignor(protocol, name)
        cases[f"group/{protocol}/{name}/one-member"] = one_member(args)
        cases[f"group/{protocol}/{name}/come-and-go"] = come_and_go(args)
    for protocol, name in (("classic", "CooperativeStickyAssignor"), ("classic", "RangeAssignor"), ("consumer", "uniform")):
        args = assignor(protocol, name, 90000)  # longer than a process takes to start
        cases[f"group/{protocol}/{name}/static-returns"] = static_returns(args)
        cases[f"group/{protocol}/{name}/static-twice"] = static_twice(args)
    return cases


def restarts():
    return {f"restarts/group/{protocol}/{name}": through_restarts(assignor(protocol, name)) for protocol, name in CHOICES}
