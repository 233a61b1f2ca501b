#!/bin/bash
# confluent-kafka-go's tests, with and without a broker, which testconf.json names; librdkafka comes with the module. The tests with one
# are a module of their own, which no proxy has: they are those of the tag of the same version in its repository (TESTS, TAG).
set -euo pipefail
case $1 in
build)
  [ -x integration.test ] && exit
  rm -rf source tests
  cp -r "$(go mod download -json "$PACKAGE@$VERSION" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" source
  chmod -R u+w source
  git clone -q --depth 1 --branch "$TAG" --filter=blob:none --no-checkout "$TESTS" tests # its libraries are large
  git -C tests checkout -q "$TAG" -- kafka/integration
  cp -r tests/kafka/integration source/kafka/
  (cd source/kafka && go test -c -o ../../confluent.test .)
  (cd source/kafka/integration && go test -c -o ../../../integration.test .)
  ;;
run)
  for tests in kafka:confluent kafka/integration:integration; do
    cd "source/${tests%:*}"
    echo '{"Brokers": "'"$ADDRESS"'", "TopicName": "test", "GroupID": "testgroup", "PerfMsgCount": 10000, "PerfMsgSize": 100}' > testconf.json
    "$OLDPWD/${tests#*:}.test" -test.v=test2json -test.timeout 0 ${FLAGS:-} | go tool test2json || true # its lines tell
    cd "$OLDPWD"
  done
  ;;
esac
