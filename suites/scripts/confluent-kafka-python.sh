#!/bin/bash
# confluent-kafka-python's integration tests; they find the broker by BROKERS. The program is the wheel of the registry, the tests,
# which no distribution holds, are those of the tag of the same version in its repository (TESTS); without those of the schema
# registry and of SASL clusters, which start programs of their own.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf source tests venv
  python3 -m venv venv
  venv/bin/pip install -q "$PACKAGE[schemaregistry,json,avro,protobuf]==$VERSION" 'pytest<9' 'pluggy<1.6' pytest-timeout pytest-asyncio trivup requests requests-mock respx async-timeout
  git clone -q --depth 1 --branch "$TAG" "$TESTS" tests
  mkdir source
  cp -r tests/tests source/
  touch ready
  ;;
run)
  cd source
  BROKERS=$ADDRESS ../venv/bin/python -m pytest -v --tb=native -o asyncio_mode=auto --timeout 180 --junit-xml=../result.xml tests/integration \
    --ignore tests/integration/schema_registry --ignore tests/integration/share_consumer_oauth --ignore tests/integration/share_consumer_sasl \
    --ignore tests/integration/integration_test.py ${LEAVE:+--ignore "tests/integration/$LEAVE"} >&2 || [ $? = 1 ]
  cat ../result.xml
  ;;
esac
