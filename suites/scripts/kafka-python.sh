#!/bin/bash
# kafka-python's integration tests, from its source distribution; they find the broker by KAFKA_URI.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf source venv && mkdir source
  python3 -m venv venv
  venv/bin/pip download -q --no-deps --no-binary "$PACKAGE" -d . "$PACKAGE==$VERSION"
  tar xzf "$(ls ./*"$VERSION".tar.gz)" --strip-components 1 -C source
  mkdir -p source/servers/none/kafka-bin # only has to be there
  venv/bin/pip install -q 'pytest<9' pytest-mock pytest-timeout ./source[crc32c,lz4,snappy,zstd]
  # the distribution leaves these out, and Python has a package test too
  touch source/test/__init__.py
  cp "$SCRIPTS/kafka-python/service.py" source/test/
  touch ready
  ;;
run)
  cd source
  KAFKA_ROOT=$PWD/servers/none/kafka-bin KAFKA_URI="kafka://$ADDRESS" KAFKA_VERSION=${KAFKA_VERSION:-4.3.0} ../venv/bin/python -m pytest -q --tb=native test/integration ${FLAGS:-} \
    --junit-xml=../result.xml >&2 || [ $? = 1 ]
  cat ../result.xml
  ;;
esac
