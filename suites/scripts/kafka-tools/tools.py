"""Kafka's verifiable and performance tools as child processes, and what they print."""
import json
import re
import subprocess
import threading
import time

PATIENCE = 300  # seconds that anything may take


class Tools:
    """The tools in a folder of jars, for one broker."""

    def __init__(self, libs, address, logging):
        self.java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                     "-Dlog4j2.configurationFile=" + logging, "-cp", libs + "/*"]
        self.address, self.started = address, []

    def close(self):
        """Ends what a case that failed has left running."""
        for tool in self.started:
            if tool.process.poll() is None:
                tool.kill()

    def start(self, name, *args):
        self.started.append(Tool(self.java + ["org.apache.kafka.tools." + name] + [str(a) for a in args], name))
        return self.started[-1]

    def run(self, name, *args, fails=False):
        """Runs a tool to its end; gives all that it printed. Its exit code must be 0, or something else where it should fail."""
        tool = self.start(name, *args)
        code = tool.end()
        if (code != 0) != fails:
            raise AssertionError(f"{name} ended with {code}: {tool.last()}")
        return tool

    def produce(self, topic, count, *args):
        """The verifiable producer, run to its end: all that it sent, value -> (partition, offset); each of count must be acknowledged."""
        tool = self.run("VerifiableProducer", "--bootstrap-server", self.address, "--topic", topic, "--max-messages", count, *args)
        return acked(tool, count)

    def retries(self, topic):
        """Options of a verifiable producer that tries again, which it does not by itself."""
        with open("retries-" + topic, "w") as f:
            f.write("retries=2147483647\nenable.idempotence=true\n")
        return ["--command-config", f.name]

    def producer(self, topic, *args):
        return self.start("VerifiableProducer", "--bootstrap-server", self.address, "--topic", topic, *args)

    def consumer(self, topic, group, *args):
        return self.start("VerifiableConsumer", "--bootstrap-server", self.address, "--topic", topic, "--group-id", group, "--verbose", *args)

    def consume(self, topic, group, count, *args):
        """The verifiable consumer until it has seen count records: value -> (partition, offset)."""
        tool = self.consumer(topic, group, "--max-messages", count, *args)
        if tool.end() != 0:
            raise AssertionError("the consumer failed: " + tool.last())
        seen = records([tool])
        same(len(tool.events("record_data")), count, "records consumed")
        committed(tool)
        return seen


class Tool:
    """A running tool; lines and events are those that it has printed so far."""

    def __init__(self, command, name):
        self.name, self.lines, self.parsed, self.changed = name, [], [], threading.Condition()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                event = json.loads(line) if line.startswith("{") else None
            except ValueError:
                event = None
            with self.changed:
                self.lines.append(line.rstrip())
                if event is not None:
                    self.parsed.append(event)
                self.changed.notify_all()

    def events(self, name):
        with self.changed:
            return [e for e in self.parsed if e.get("name") == name]

    def wait(self, what, ready, patience=PATIENCE):
        """Waits until ready(self) is true, which is looked at after each line."""
        end = time.monotonic() + patience
        while not ready(self):
            if self.process.poll() is not None and not self.reader.is_alive():
                if ready(self):
                    return
                raise AssertionError(f"{self.name} ended before {what}: {self.last()}")
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"{self.name}: no {what} within {patience} s: {self.last()}")
            with self.changed:
                self.changed.wait(min(left, 0.2))

    def end(self, patience=PATIENCE):
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not end within {patience} s: {self.last()}")
        self.reader.join()
        return code

    def stop(self):
        """Ends it as a service manager does; it has to end well."""
        self.process.terminate()
        code = self.end()
        if code not in (0, 143):
            raise AssertionError(f"{self.name} ended with {code}: {self.last()}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def last(self):
        return " / ".join(l for l in self.lines if l and not l.startswith("{"))[-300:] or " / ".join(self.lines)[-300:]

    def number(self, pattern):
        """The number in the last line that fits."""
        found = [m for m in (re.search(pattern, l) for l in self.lines) if m]
        if not found:
            raise AssertionError(f"{self.name} printed nothing like {pattern}: {self.last()}")
        return float(found[-1].group(1))


def same(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {str(got)[:300]}, not {str(want)[:300]}")


def acked(tool, count, offsets=True):
    """Checks that the verifiable producer had each of count records acknowledged; gives value -> (partition, offset)."""
    same(tool.events("producer_send_error"), [], "errors of the producer")
    summary = tool.events("tool_data")[-1]
    same((summary["sent"], summary["acked"]), (count, count), "sent and acknowledged")
    sent = {e["value"]: (e["partition"], e["offset"]) for e in tool.events("producer_send_success")}
    same(len(sent), count, "different values acknowledged")
    if offsets:
        same(len(set(sent.values())), count, "different places of records")
    return sent


def records(tools):
    """All that verifiable consumers saw: value -> (partition, offset). A value in two places was written twice."""
    seen = {}
    for tool in tools:
        for e in tool.events("record_data"):
            place = (e["partition"], e["offset"])
            if seen.setdefault(e["value"], place) != place:
                raise AssertionError(f"value {e['value']} is at {seen[e['value']]} and at {place}")
    return seen


def committed(tool):
    """Checks that each commit of a verifiable consumer succeeded."""
    same([e for e in tool.events("offsets_committed") if not e["success"]], [], "failed commits")
