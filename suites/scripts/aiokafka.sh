#!/bin/bash
# aiokafka's tests that need a broker. The program is the wheel of the registry, the tests, which no distribution holds, are those of
# the tag of the same version in its repository (TESTS). They start a container; here their fixtures are turned to an address
# (aiokafka/address.py), without TLS, SASL and ACLs.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf source tests venv
  python3 -m venv venv
  venv/bin/pip install -q "$PACKAGE==$VERSION" cramjam==2.11.0 pytest==9.0.2 pytest-asyncio==1.3.0 pytest-mock==3.15.1 pytest-timeout docker==7.1.0 async-timeout==5.0.1
  git clone -q --depth 1 --branch "$TAG" "$TESTS" tests
  mkdir source
  cp -r tests/tests tests/pyproject.toml source/
  cat "$SCRIPTS/aiokafka/address.py" >> source/tests/conftest.py
  touch ready
  ;;
run)
  cd source
  export ADDRESS KAFKA_VERSION=${KAFKA_VERSION:-4.0.0}
  ../venv/bin/python -m pytest -v --tb=native --timeout 240 --junit-xml=../result.xml -m broker tests >&2 || [ $? = 1 ]
  cat ../result.xml
  ;;
esac
