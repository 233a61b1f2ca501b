#!/bin/bash
# node-rdkafka's e2e tests; they look for the broker at localhost:9092. The binding is compiled with the headers of the node that is there.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf source package
  tar xzf "$(npm pack --silent "$PACKAGE@$VERSION")"
  mv package source
  cd source
  npm install --silent --ignore-scripts >&2
  npx node-gyp rebuild --nodedir="${NODEDIR:-/usr}" >&2 # not -j: what is configured has to be there first
  touch ../ready
  ;;
run)
  cd source
  rm -f ../result.xml
  timeout -s KILL 1000 npx mocha --exit --timeout 60000 --reporter xunit --reporter-option output=../result.xml e2e/*.spec.js >&2 &
  mocha=$! # its clients can keep the process from its end when all is said
  until grep -qs '</testsuite>' ../result.xml || ! kill -0 $mocha 2>/dev/null; do sleep 0.5; done
  kill $mocha 2>/dev/null || true
  cat ../result.xml
  ;;
esac
