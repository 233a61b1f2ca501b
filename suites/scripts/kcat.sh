#!/bin/bash
# kcat's tests; they find the broker by BROKERS and the program beside their folder. The program is the distribution's (kcat in Debian,
# or KCAT), the tests are those of the tag of the same version in its repository (TESTS). They call jq.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf tests
  program=$(command -v "${KCAT:-kcat}") && command -v jq >&2
  "$program" -V | grep -q "^Version $VERSION " # the tests are of this version
  git clone -q --depth 1 --branch "$TAG" "$TESTS" tests
  ln -sf "$program" tests/kcat
  touch ready
  ;;
run)
  cd tests/tests
  export BROKERS=$ADDRESS
  for test in 0*.sh; do
    name=${test%.sh}
    if script -qec "bash $test" "$name.log" < /dev/null > /dev/null; then # kcat consumes where it is not piped into
      if grep -q 'TEST SKIPPED' "$name.log"; then
        echo "test $name ... ignored, $(sed -n 's/.*TEST SKIPPED: \([^[:cntrl:]]*\).*/\1/p' "$name.log")"
      else
        echo "test $name ... ok"
      fi
    else
      echo "test $name ... FAILED, $(tail -n 1 "$name.log" | tr -d '[:cntrl:]')"
    fi
    cat "$name.log" >&2
  done
  ;;
esac
