#!/bin/bash
# confluent-kafka-go's tests with a broker, which testconf.json names; librdkafka comes with the module.
set -euo pipefail
case $1 in
build)
  [ -x confluent.test ] && exit
  rm -rf source
  cp -r "$(go mod download -json "$PACKAGE@$VERSION" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" source
  chmod -R u+w source
  cd source/kafka
  echo '{"Brokers": "'"$ADDRESS"'", "TopicName": "test", "GroupID": "testgroup", "PerfMsgCount": 10000, "PerfMsgSize": 100}' > testconf.json
  go test -c -o ../../confluent.test .
  ;;
run)
  cd source/kafka
  ../../confluent.test -test.v=test2json -test.timeout 0 ${FLAGS:-} | go tool test2json
  ;;
esac
