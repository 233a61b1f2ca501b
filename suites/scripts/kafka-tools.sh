#!/bin/bash
# Kafka's own verifiable and performance tools, from Maven Central, against the broker; kafka-tools/cases.py runs them and checks what they print.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf libs
  mvn -q -B -f "$SCRIPTS/../../integration/testdata/kafka/pom.xml" dependency:copy-dependencies -DoutputDirectory="$PWD/libs" -DincludeScope=runtime >&2
  ls libs/kafka-tools-"$VERSION".jar
  touch ready
  ;;
run)
  exec python3 "$SCRIPTS/kafka-tools/cases.py" "$PWD/libs" "$ADDRESS" "$SCRIPTS/../../integration/testdata/kafka/log4j2.yaml" "${CASES:-steady}"
  ;;
esac
