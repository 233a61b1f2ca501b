#!/bin/bash
# franz-go's own tests of kgo; they find the broker by KGO_SEEDS.
set -euo pipefail
case $1 in
build)
  [ -x kgo.test ] && exit
  rm -rf source
  cp -r "$(go mod download -json "$PACKAGE@$VERSION" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" source
  chmod -R u+w source
  (cd source && go test -c -o ../kgo.test ./pkg/kgo)
  ;;
run)
  cd source/pkg/kgo
  export KGO_SEEDS=$ADDRESS KGO_TEST_RF=1 KGO_TEST_RECORDS=${RECORDS:-20000} KGO_LOG_LEVEL=none
  ../../../kgo.test -test.v=test2json -test.timeout 0 ${TESTS:+-test.run "$TESTS"} ${SKIP:+-test.skip "$SKIP"} | go tool test2json
  ;;
esac
