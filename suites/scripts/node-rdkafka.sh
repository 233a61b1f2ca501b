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
  npx mocha --exit --timeout 120000 --reporter xunit --reporter-option output=../result.xml e2e/*.spec.js >&2 || true # the report tells
  cat ../result.xml
  ;;
esac
