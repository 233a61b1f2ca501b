#!/bin/bash
# A client for Rust, by the program in rust/ that PROGRAM names, with the toolchain that is there.
set -euo pipefail
case $1 in
build)
  [ -x client ] && exit
  rm -rf source && mkdir -p source/src && cd source
  cp "$SCRIPTS/rust/$PROGRAM.rs" src/main.rs
  cat > Cargo.toml <<C
[package]
name = "client"
version = "0.1.0"
edition = "2021"
[dependencies]
$PACKAGE = "=$VERSION"
tokio = { version = "1", features = ["full"] }
${WITH:-}
C
  CARGO_PROFILE_DEV_DEBUG=0 cargo build -q >&2
  cp target/debug/client ../client
  rm -rf target
  ;;
run)
  exec timeout 250 ./client "$ADDRESS" "${TOPIC:-client}"
  ;;
esac
