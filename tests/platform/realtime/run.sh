#!/usr/bin/env bash
# Runs our client and the tests of Realtime with a Realtime server that somebody supplies.
#   usage: SUPABASE_REALTIME=path/to/server tests/platform/realtime/run.sh [arguments of vitest]
# The path is a program that serves https://github.com/supabase/realtime in the foreground, as configured by the
# environment (its ENVS.md): `bin/server` of a release after its `bin/migrate`. SUPABASE_REALTIME_SOURCE, a checkout,
# is compared with what supabase/local/realtime takes from it. Not part of CI.
set -euo pipefail
: "${SUPABASE_REALTIME:?is the path of a program that serves Realtime}"
cd "$(dirname "$0")/../../.."
. tests/postgres/own_server.sh
# Replication passes on what is in the log on disk, so the server must write it.
start_server durable
PLATFORM_URL=$url npx vitest run --config tests/platform/realtime/vitest.config.ts "$@"
