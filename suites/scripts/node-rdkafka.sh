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
  npx node-gyp rebuild --nodedir="${NODEDIR:-$(node -p 'path.resolve(process.execPath, "../..")')}" >&2 # not -j: what is configured has to be there first
  touch ../ready
  ;;
run)
  cd source
  echo '<testsuites>'
  for spec in e2e/*.spec.js; do # each by itself: a client that crashes takes the process with it
    rm -f report.xml
    timeout -s KILL 400 npx mocha --exit --timeout 60000 --reporter xunit --reporter-option output=report.xml "$spec" >&2 &
    mocha=$! # its clients can keep the process from its end when all is said
    until grep -qs '</testsuite>' report.xml || ! kill -0 $mocha 2>/dev/null; do sleep 0.5; done
    kill $mocha 2>/dev/null || true
    if grep -qs '</testsuite>' report.xml; then
      cat report.xml
    else
      echo "<testsuite><testcase classname=\"$spec\" name=\"(the file)\"><failure message=\"the client ended without a report\"/></testcase></testsuite>"
    fi
  done
  echo '</testsuites>'
  ;;
esac
