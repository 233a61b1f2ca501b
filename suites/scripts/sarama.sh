#!/bin/bash
# Sarama's functional tests. They want five brokers behind toxiproxy; here its five proxies lead to the one broker, which is known
# to clients by the address of the first, and the tests' topics have one replica.
set -euo pipefail
case $1 in
build)
  [ -x toxiproxy ] && exit
  rm -rf source proxy && mkdir proxy
  cp -r "$(go mod download -json "$PACKAGE@$VERSION" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" source
  chmod -R u+w source
  (cd source && sed -i -E 's/(ReplicationFactor: +)[23],/\11,/' functional*_test.go && go test -c -tags functional -o ../sarama.test .)
  cd proxy && go mod init proxy && go get "github.com/Shopify/toxiproxy/v2/cmd/server@$TOXIPROXY"
  go build -o ../toxiproxy github.com/Shopify/toxiproxy/v2/cmd/server
  ;;
run)
  ./toxiproxy -host 127.0.0.1 -port 8474 >&2 &
  proxy=$!
  trap 'kill $proxy' EXIT
  until curl -sf http://127.0.0.1:8474/version >/dev/null; do sleep 0.05; done
  for i in 1 2 3 4 5; do
    curl -sf http://127.0.0.1:8474/proxies -d '{"name":"kafka'$i'","listen":"127.0.0.1:'$((29090 + i))'","upstream":"'"$ADDRESS"'"}' >&2
  done
  cd source
  TOXIPROXY_ADDR=http://127.0.0.1:8474 KAFKA_VERSION=4.0.0 ../sarama.test -test.v=test2json -test.timeout 0 -test.run 'Func' | go tool test2json
  ;;
esac
