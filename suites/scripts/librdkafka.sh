#!/bin/bash
# librdkafka's test-runner; the sources are in the npm package of Confluent's client for JavaScript. Tests that call Kafka's shell
# tools find them by KAFKA_PATH: those of KAFKA_HOME, else minibroker's own (cmd/kafkatools).
set -euo pipefail
case $1 in
build)
  [ -x source/tests/test-runner ] && exit
  rm -rf source package
  tar xzf "$(npm pack --silent "$PACKAGE@$VERSION")" package/deps/librdkafka
  mv package/deps/librdkafka source
  cd source
  { ./configure --disable-gssapi && make -j2 libs && make -j2 -C tests build; } >&2
  ;;
run)
  cd source/tests
  printf 'bootstrap.servers=%s\ntest.timeout.multiplier=%s\n' "$ADDRESS" "${MULTIPLIER:-2}" > run.conf
  export RDKAFKA_TEST_CONF=run.conf TEST_KAFKA_VERSION=${TEST_KAFKA_VERSION:-4.2.0} BROKERS=$ADDRESS KAFKA_PATH=${KAFKA_HOME:-}
  export LD_LIBRARY_PATH=$PWD/../src:$PWD/../src-cpp
  ./test-runner -p"${PARALLEL:-5}" -K ${FLAGS:-} || true # the summary tells
  ;;
esac
