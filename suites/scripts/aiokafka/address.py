

# --- not aiokafka's: the broker is one that runs already, at ADDRESS, and only tests that use it are marked broker ---


class Absent:
    """Stands for what this run does not have; a test that uses it is skipped."""

    def __init__(self, what):
        self.what = what

    def __getattr__(self, name):
        pytest.skip(f"this run has no {self.what}")

    def __truediv__(self, name):
        pytest.skip(f"this run has no {self.what}")


@pytest.fixture(scope="class")
def setup_test_class(request, loop):
    host, port = os.environ["ADDRESS"].split(":")
    request.cls.loop = loop
    request.cls.kafka_host = host
    request.cls.kafka_port = int(port)
    request.cls.hosts = [os.environ["ADDRESS"]]
    request.cls.kafka_ssl_port = request.cls.kafka_sasl_plain_port = request.cls.kafka_sasl_ssl_port = 1
    request.cls.ssl_folder = Absent("TLS")
    request.cls.acl_manager = Absent("authorizer and SASL")
    request.cls.kerberos_utils = Absent("Kerberos")
    request.cls.kafka_config = Absent("SASL")
    request.cls.kafka_version = os.environ["KAFKA_VERSION"]


def pytest_collection_modifyitems(items):
    for item in items:
        if "setup_test_class" in item.fixturenames:
            item.add_marker("broker")


def pytest_sessionstart(session):
    session.config.addinivalue_line("markers", "broker: the test uses the broker")
