#!/usr/bin/env bash
# Runs the contracts of Auth and Storage (tests/contract) on Supabase's own servers, built from their public sources.
#   usage: SUPABASE_AUTH=../auth SUPABASE_STORAGE=../storage tests/platform/run.sh [arguments of vitest]
# These are checkouts of https://github.com/supabase/auth and https://github.com/supabase/storage. Auth needs Go, and
# Storage the Node that its package.json names: the first in the PATH, or STORAGE_NODE. Not part of CI.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${SUPABASE_AUTH:?Set it to a checkout}" "${SUPABASE_STORAGE:?Set it to a checkout}"
. tests/postgres/own_server.sh
mkdir -p .cache/platform
export AUTH_SERVER=$PWD/.cache/platform/auth
(cd "$SUPABASE_AUTH" && go build -o "$AUTH_SERVER" .)
STORAGE_NODE=$(command -v "${STORAGE_NODE:-node}")
export STORAGE_NODE
(
  cd "$SUPABASE_STORAGE"
  export PATH="$(dirname "$STORAGE_NODE"):$PATH"
  [ -d node_modules ] || npm ci --no-audit --no-fund
  # Without the types, which do not change what runs.
  [ -d dist ] || { node build.js && npx resolve-tspaths; }
)
start_server
PLATFORM_URL=$url npx vitest run --config tests/platform/vitest.config.ts "$@"
