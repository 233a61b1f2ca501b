#!/bin/bash
# @platformatic/kafka's tests that need a broker; they look for it at localhost:9001 and 9011. The program is the package of the
# registry, which holds what src/ was compiled to; the tests are those of the tag of the same version in its repository (TESTS) and
# import from src/, where each module stands for the package's. Node comes from the registry: the package asks for a newer one than
# distributions have.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf source package tests
  tar xzf "$(npm pack --silent "$PACKAGE@$VERSION")"
  mv package source
  git clone -q --depth 1 --branch "$TAG" "$TESTS" tests
  cp -r tests/test source/
  cd source
  npm pkg delete devDependencies # tools for development; what the tests import is named here
  npm install --silent --no-save "node@$NODE" @watchable/unpromise@1 fast-jwt@6 json5@2 prom-client@15 semver@7 lz4-napi@2 snappy@7 >&2
  # and kerberos, which is compiled against libraries of the system's: its tests need a realm, others only import it
  mkdir -p node_modules/kerberos && echo 'module.exports = {}' > node_modules/kerberos/index.js
  (cd dist && find . -name '*.js' -not -path './typescript-4/*') | while read -r module; do
    mkdir -p "src/$(dirname "$module")"
    echo "export * from '$(realpath --relative-to "src/$(dirname "$module")" "dist/$module")'" > "src/${module%.js}.ts"
  done
  touch ../ready
  ;;
run)
  cd source
  rm -f ../result.xml
  export KAFKA_VERSION=${KAFKA_VERSION:-8.1.0} # Confluent's number for 4.1
  ./node_modules/.bin/node --test --test-concurrency=1 --test-force-exit --test-reporter=junit --test-reporter-destination=../result.xml \
    ${FILES:-test/clients/*/*.test.ts test/clients/*.test.ts test/issues/*.test.ts test/network/*.test.ts} >&2 || true # the report tells
  cat ../result.xml
  ;;
esac
