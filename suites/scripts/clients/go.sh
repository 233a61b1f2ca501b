#!/bin/bash
# A client for Go, by the program in go/ that PROGRAM names, in a module of its own.
set -euo pipefail
case $1 in
build)
  [ -x client ] && exit
  rm -rf source && mkdir source && cd source
  cp "$SCRIPTS/go/actions.go.txt" actions.go
  sed "s#MODULE#$PACKAGE#" "$SCRIPTS/go/$PROGRAM.go.txt" > main.go # some moved
  go mod init client >&2
  go get "$PACKAGE@$VERSION" >&2
  txn=$SCRIPTS/go/$PROGRAM-txn.go.txt # where old releases have no such calls
  [ ! -e "$txn" ] || sed "s#MODULE#$PACKAGE#" "$txn" > txn.go
  go mod tidy >&2
  go build -o ../client . >&2 || { [ -e "$txn" ] && cp "$SCRIPTS/go/no-txn.go.txt" txn.go && go build -o ../client . >&2; }
  ;;
run)
  exec timeout 250 ./client "$ADDRESS" "${TOPIC:-client}"
  ;;
esac
