#!/bin/bash
# librdkafka's test-runner; the sources are in the npm package of Confluent's client for JavaScript. Tests that call Kafka's shell
# tools find them by KAFKA_PATH: those of KAFKA_HOME, else minibroker's own (cmd/kafkatools, without kafka-acls.sh).
set -euo pipefail
case $1 in
build)
  [ -x source/tests/test-runner ] && exit
  rm -rf source package
  tar xzf "$(npm pack --silent "$PACKAGE@$VERSION")" package/deps/librdkafka
  mv package/deps/librdkafka source
  cd source
  # replicas of topics
  sed -i 's/, 3, 5000);/, 1, 5000);/' tests/0103-transactions.c tests/0107-topic_recreate.c
  sed -i 's/topic.c_str(), 1, 3);/topic.c_str(), 1, 1);/' tests/0111-delay_create_topics.cpp
  mkdir -p tests/tools/bin
  (cd "$SCRIPTS/../.." && go build -o "$OLDPWD/tests/tools/bin/kafka-topics.sh" ./cmd/kafkatools)
  { ./configure --disable-gssapi && make -j2 libs && make -j2 -C tests build; } >&2
  ;;
run)
  cd source/tests
  printf 'bootstrap.servers=%s\ntest.timeout.multiplier=%s\n' "$ADDRESS" "${MULTIPLIER:-2}" > run.conf
  export RDKAFKA_TEST_CONF=run.conf TEST_KAFKA_VERSION=${TEST_KAFKA_VERSION:-4.2.0} BROKERS=$ADDRESS KAFKA_PATH=${KAFKA_HOME:-$PWD/tools}
  export LD_LIBRARY_PATH=$PWD/../src:$PWD/../src-cpp
  # a test that fails can leave the runner's lock behind, which stops all others: each number has a runner of its own
  one() {
    timeout -k 5 "$2" env TESTS="$1" ./test-runner -p1 -K -L ${FLAGS:-} > "run-$1.out" 2>&1 && true # the summary tells
    local status=$?
    if [ $status -ge 124 ]; then # no summary
      echo "| ${1}_ | FAILED | - | $(grep -a -A1 ' failed at ' "run-$1.out" | head -2 | tr '\n|' '  ')$([ $status = 124 ] && echo "no end within $2 s")"
    fi >> "run-$1.out"
  }
  export -f one
  rm -f run-*.out
  # 0113 takes ten minutes and goes first; what fails beside others runs once more by itself, and that counts
  { echo 0113; sed -n 's/^ *_TEST(\(0[0-9]\{3\}\)_.*/\1/p' test.c | sort -u | grep -vE "^(${LEAVE:-none}|0113)"; } | xargs -P "${PARALLEL:-6}" -I{} bash -c "one {} ${EACH:-900}" || true
  { grep -laE '^\|.* FAILED ' run-*.out || true; } | sed 's/run-\(.*\).out/\1/' | xargs -I{} bash -c "one {} ${EACH:-900}" || true # their lines tell
  cat run-*.out
  ;;
esac
