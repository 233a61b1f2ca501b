"""What the programs for clients for Python share: one line for each action, values to send and to expect."""
import sys
import threading
import time

COUNT = 20


class Missing(Exception):
    """The client has no such call."""


def attempt(name, action, limit=40):
    """Runs an action and prints what came of it."""
    said = []

    def work():
        try:
            action()
            said.append("ok " + name)
        except Missing as e:
            said.append("skip %s: %s" % (name, e))
        except BaseException as e:
            said.append(("fail %s: %s: %s" % (name, type(e).__name__, e)).replace("\n", " "))

    thread = threading.Thread(target=work)
    thread.daemon = True
    thread.start()
    thread.join(limit)
    print(said[0] if said else "fail %s: no end within %d s" % (name, limit))
    sys.stdout.flush()


def values(prefix, count=COUNT):
    return [prefix + str(i) for i in range(count)]


def read(poll, want, patience=30):
    """Calls poll, which gives a list of values within a second, until as many as wanted came, then once more."""
    got, end = [], time.time() + patience
    while len(got) < len(want) and time.time() < end:
        got += poll()
    got += poll()
    if sorted(got) != sorted(want):
        raise AssertionError("read %s, not %s" % (sorted(got), sorted(want)))


def there(listed, patience=10):
    """Waits until listed() is true."""
    end = time.time() + patience
    while not listed():
        if time.time() > end:
            raise AssertionError("a new topic is not listed")
        time.sleep(0.05)


def gone(listed, patience=10):
    """Waits until listed() is false."""
    end = time.time() + patience
    while listed():
        if time.time() > end:
            raise AssertionError("a deleted topic stays")
        time.sleep(0.05)
