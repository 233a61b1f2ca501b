#!/bin/bash
# One group (GROUP) of kafkajs's tests; they look for it at localhost:9092, 9095 and 9098. The program is the package of the registry,
# the tests, which the package leaves out, are those of the tag of the same version in its repository (TESTS).
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf source package tests
  tar xzf "$(npm pack --silent "$PACKAGE@$VERSION")"
  mv package source
  git clone -q --depth 1 --branch "$TAG" "$TESTS" tests
  cp -rn tests/src/. source/src/ # whatever the package holds stays
  cp -r tests/testHelpers tests/jest.config.js source/
  mkdir source/scripts
  cp "$SCRIPTS/kafkajs/addPartitions.sh" source/scripts/ # calls kafka-topics in a container
  cd source
  npm install --silent --no-save --ignore-scripts jest@25 jest-circus@25 jest-extended@0.11 jest-junit@10 \
    execa@2 glob@7 jsonwebtoken@9 mockdate@2 semver@6 uuid@3 >&2
  touch ../ready
  ;;
run)
  cd source
  export NODE_ENV=test KAFKA_VERSION=2.4 KAFKAJS_DEBUG_PROTOCOL_BUFFERS=1 TEST_RETRIES=${TEST_RETRIES:-0}
  export JEST_JUNIT_OUTPUT_DIR=.. JEST_JUNIT_OUTPUT_NAME=result.xml JEST_JUNIT_CLASSNAME='{filename}' JEST_JUNIT_TITLE='{classname} {title}'
  npx jest --ci --maxWorkers=1 --no-watchman --forceExit "src/$GROUP/" >&2 || true # the report tells
  cat ../result.xml
  ;;
esac
