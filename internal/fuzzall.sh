#!/bin/sh
# Runs every fuzz target of the module for the given time each; ends with the first finding.
# usage: internal/fuzzall.sh 5m
set -eu
limit=${1:-1m}
count=0
for file in $(grep -rl --include='*_test.go' '^func Fuzz' .); do
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    echo "== $(dirname "$file") $target for $limit"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$limit" "$(dirname "$file")"
    count=$((count + 1))
  done
done
echo "$count fuzz targets, no finding"
