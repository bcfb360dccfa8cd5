#!/bin/sh
# Installs the packages if they are missing or older than the lock file; prints nothing if they are up to date.
set -eu
cd "$(dirname "$0")/.."
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error
