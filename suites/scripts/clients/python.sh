#!/bin/bash
# A client for Python, by the program in python/ that PROGRAM names and the interpreter that PYTHON names (wheels of old versions are for old ones).
set -euo pipefail
python=${PYTHON:-python3}
[ "$python" = python3 ] || [ ! -d "$HOME/.pyenv/versions" ] || python=$(ls "$HOME"/.pyenv/versions/"${PYTHON#python}".*/bin/"$PYTHON" | tail -1)
case $1 in
build)
  [ -e ready ] && exit
  rm -rf venv
  "$python" -m venv venv
  # shellcheck disable=SC2086 # WITH is a list
  venv/bin/pip install -q --prefer-binary "$PACKAGE==$VERSION" ${WITH:-} >&2
  touch ready
  ;;
run)
  exec timeout 200 venv/bin/python "$SCRIPTS/python/$PROGRAM.py" "$ADDRESS" "${TOPIC:-client}"
  ;;
esac
