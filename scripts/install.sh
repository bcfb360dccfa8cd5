#!/bin/sh
# Installs the packages when they are missing or older than the lock file; says nothing when all is there.
set -eu
cd "$(dirname "$0")/.."
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error
