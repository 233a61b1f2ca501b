#!/bin/bash
# kfake's behaviour tests, turned to an address: in a copy of kfake the tests' clusters are the broker at KFAKE_ADDRESS, emptied for
# each test, and what steers a fake from inside (faults, control functions, its files) skips the test that uses it (kfake/address.go.txt).
set -euo pipefail
case $1 in
build)
  [ -x kfake.test ] && exit
  rm -rf source
  cp -r "$(go mod download -json "$PACKAGE@$VERSION" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" source
  chmod -R u+w source
  cd source
  sed -i -E '
    s/^(func \(c \*Cluster\) CreateTopic\(.*)$/\1\n\tif c.address() != nil {\n\t\treturn outsideCreateTopic(topic, partitions, configs)\n\t}/
    s/^(func \(c \*Cluster\) DeleteTopic\(.*)$/\1\n\tif c.address() != nil {\n\t\treturn outsideDeleteTopic(topic)\n\t}/
    s/^(func \(c \*Cluster\) DeleteRecords\(.*)$/\1\n\tif c.address() != nil {\n\t\treturn outsideDeleteRecords(topic, partition, offset)\n\t}/' topic_lifecycle.go
  sed -i -E '/ (ListenAddrs|Close|CreateTopic|DeleteTopic|DeleteRecords)\(/!s/^func \(c \*Cluster\) ([A-Z][A-Za-z]*|admin)\(.*\{$/&\n\tc.kfakeOnly("\1")/' ./[0-9a-z]*.go
  sed -i -z 's/func (c \*Cluster) ListenAddrs() \[\]string {\n/&\tif outside := c.address(); outside != nil {\n\t\treturn outside\n\t}\n/' cluster.go
  sed -i -z 's/\tt.Cleanup(c.Close)\n\treturn c\n/\tt.Cleanup(c.Close)\n\tc.outside(t)\n\treturn c\n/' helpers_test.go
  grep -q 'c.outside(t)' helpers_test.go
  cp "$SCRIPTS/kfake/address.go.txt" address.go
  go get github.com/twmb/franz-go@v1.22.3 github.com/twmb/franz-go/pkg/kadm@v1.20.0 # go.mod names older ones than the tests need
  go test -mod=mod -c -o ../kfake.test .
  ;;
run)
  cd source
  export KFAKE_ADDRESS=$ADDRESS
  panics='^TestListOffsetsNoTimestampSegments$' # looks into the fake's segments, which are not there, and ends the process
  ../kfake.test -test.v=test2json -test.timeout 0 -test.parallel 1 ${TESTS:+-test.run "$TESTS"} -test.skip "${SKIP:-$panics}" | go tool test2json || true # its lines tell
  [ -n "${TESTS:-}${SKIP:-}" ] || ../kfake.test -test.v=test2json -test.timeout 0 -test.parallel 1 -test.run "$panics" | go tool test2json || true
  ;;
esac
