#!/usr/bin/env bash
# Runs our client and the tests of Realtime with a Realtime server that somebody supplies.
#   usage: SUPABASE_REALTIME=path/to/server tests/platform/realtime/run.sh [arguments of vitest]
# The path is a program that serves https://github.com/supabase/realtime in the foreground, as configured by the
# environment (its ENVS.md): `bin/server` of a release after its `bin/migrate`. SUPABASE_REALTIME_SOURCE, a checkout,
# is compared with what supabase/local/realtime takes from it. Not part of CI.
set -euo pipefail
: "${SUPABASE_REALTIME:?is the path of a program that serves Realtime}"
cd "$(dirname "$0")/../../.."
export PREFIX=$PWD/.cache/postgres17
# Started as root, the server runs as user nobody, who may not be able to read this clone.
if [ "$(id -u)" = 0 ] && ! setpriv --reuid=nobody --regid=nogroup --clear-groups test -r "$PWD/package.json"; then
  PREFIX=/tmp/postgres17-$(sha256sum tests/postgres/install.sh | head -c 8)
fi
bash tests/postgres/install.sh "$PREFIX"
data=$(mktemp -d /tmp/platform.XXXXXX)
chmod 755 "$data"
trap 'bash tests/postgres/server.sh stop "$data/data"; rm -rf "$data"' EXIT
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => {
  console.log(s.address().port); s.close() })')
# Replication passes on what is in the log on disk, so the server must write it.
bash tests/postgres/server.sh start "$data/data" "$port" durable
PLATFORM_URL=postgresql://supabase_admin@127.0.0.1:$port \
  npx vitest run --config tests/platform/realtime/vitest.config.ts "$@"
