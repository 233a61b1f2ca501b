"""test.service, which kafka-python's source distribution leaves out: only what tests with a broker that runs already ask of it."""


class ExternalService:
    """A broker that somebody else starts and ends."""

    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass

    stop = close


class SpawnedService:
    def __init__(self, *args, **kwargs):
        raise RuntimeError("this run has a broker; tests start none")
