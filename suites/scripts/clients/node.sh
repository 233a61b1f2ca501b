#!/bin/bash
# A client for JavaScript, by the program in node/ that PROGRAM names. Bindings are compiled with the headers of the node that is there.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf node_modules package.json package-lock.json
  echo '{"private": true}' > package.json
  npm install --silent --no-audit --no-fund --ignore-scripts "$PACKAGE@$VERSION" >&2
  if [ -e "node_modules/$PACKAGE/binding.gyp" ]; then
    cd "node_modules/$PACKAGE"
    sed -i 's/-std=c++1[14]/-std=c++17/' binding.gyp # the headers of newer nodes want it; the sources are as they were
    export CKJS_LINKING=dynamic # Confluent's: with the libraries of the system, where else it downloads their sources
    npx --yes node-gyp rebuild --nodedir="${NODEDIR:-$(node -p 'path.resolve(process.execPath, "../..")')}" >&2 # not -j: what is configured has to be there first
    cd - >/dev/null
  fi
  touch ready
  ;;
run)
  NODE_PATH=$PWD/node_modules exec timeout 250 node --no-warnings "$SCRIPTS/node/$PROGRAM.js" "$ADDRESS" "${TOPIC:-client}" "$PACKAGE"
  ;;
esac
