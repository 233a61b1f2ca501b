#!/bin/sh
# Writes the completions of three shells to packaging/completions, for a release.
set -eu
cd "$(dirname "$0")/.."
mkdir -p packaging/completions
go run ./cmd/minibroker completion bash > packaging/completions/minibroker.bash
go run ./cmd/minibroker completion zsh > packaging/completions/_minibroker
go run ./cmd/minibroker completion fish > packaging/completions/minibroker.fish
