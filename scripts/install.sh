#!/bin/sh
# Installs the packages that are missing or older than the lock file; prints nothing if they are up to date.
# Usage: install.sh [start]   With `start` only what npm start needs, without the tests' and the bench's packages.
set -eu
cd "$(dirname "$0")/.."
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || {
  echo "Node 20 or later is needed, and this is $(node --version)" >&2
  exit 1
}
needed=vitest omit= size='500 MB, usually in less than a minute'
if [ "${1:-}" = start ]; then needed=hono omit=--omit=dev size='240 MB, usually in less than half a minute'; fi
if [ ! node_modules/.package-lock.json -nt package-lock.json ] || [ ! -e "node_modules/$needed" ]; then
  echo "Installing packages ($size), once"
  npm ci --no-audit --no-fund --loglevel=error $omit
fi
