#!/bin/bash
# kcat, Debian's package: it has neither calls for transactions nor for administration; topics are made by the broker on demand.
set -euo pipefail
case $1 in
build)
  command -v kcat >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq kcat >/dev/null; }
  [ "$(dpkg-query -W -f '${Version}' kcat)" = "$VERSION" ]
  ;;
run)
  topic=${TOPIC:-client}
  say() { # say NAME GOT WANT
    [ "$2" = "$3" ] && echo "ok $1" || echo "fail $1: read $(echo $2), not $(echo $3)"
  }
  values() { seq -f "$1%g" 0 19 | sort; }
  echo "skip admin: kcat has no such call"
  if said=$(values a | timeout 40 kcat -P -b "$ADDRESS" -t "$topic" -X acks=all 2>&1); then echo ok produce; else echo "fail produce: $said" | tr '\n' ' '; echo; fi
  say consume "$(timeout 40 kcat -C -b "$ADDRESS" -t "$topic" -o beginning -e -q 2>&1 | sort)" "$(values a)"
  first=$(timeout 40 kcat -b "$ADDRESS" -G "$topic-group" -X auto.offset.reset=earliest -c 20 -q "$topic" 2>&1 | sort)
  values b | timeout 40 kcat -P -b "$ADDRESS" -t "$topic"
  second=$(timeout 40 kcat -b "$ADDRESS" -G "$topic-group" -X auto.offset.reset=earliest -c 20 -q "$topic" 2>&1 | sort)
  say group "$first $second" "$(values a) $(values b)"
  echo "skip transaction: kcat has no such call"
  ;;
esac
