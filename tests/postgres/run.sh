#!/usr/bin/env bash
# Runs the test suite on a Postgres 17 server of its own: pgTAP, the HTTP tests on the functions' bundles under the
# platform's Deno (with BUNDLES=both under both versions, each on a fresh database), and tests that need a server: the
# Supabase CLI's checks, deployment, a pooler.
#   usage: tests/postgres/run.sh [arguments of vitest] | mutants [arguments of tests/mutants/run.ts] |
#     migration NAME | install
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/postgres/own_server.sh
[ "${1:-}" != install ] || exit 0
psql=("$PREFIX"/usr/lib/postgresql/17/bin/psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -U supabase_admin)
start_server
"${psql[@]}" -p "$port" postgres -c 'create database pushed' -c 'create database migrated' -c 'create database bare'
for database in pushed migrated bare postgres; do
  "${psql[@]}" -p "$port" "$database" -f tests/postgres/platform.sql
done
# Its creator administers it, so this must be the role that applies the migrations on the platform.
"${psql[@]}" -p "$port" -U postgres postgres -c 'create role edge_functions login noinherit'
for database in http http_on_bundles_0 http_on_bundles_1 pgtap rules mutants cost; do
  "${psql[@]}" -p "$port" postgres -c "create database $database"
done
if [ -n "${RESTORED:-}" ]; then
  # Runs the tests on a dumped and restored demo database (npm run test:restored).
  "${psql[@]}" -p "$port" postgres -c 'create database dumped'
  DATABASE_URL=$url/dumped SEED=demo PORT=0 DATA_DIR=memory timeout --preserve-status -s TERM 40 npm start > /dev/null
  "$PREFIX/usr/lib/postgresql/17/bin/pg_dump" --format=custom "$url/dumped" |
    "$PREFIX/usr/lib/postgresql/17/bin/pg_restore" --exit-on-error --dbname="$url/http"
  TEST_DATABASE_URL=$url/http npx vitest run "$@"
  exit
fi
if [ "${1:-}" = mutants ]; then
  DATABASE_URL=$url/mutants npx deno run -A tests/mutants/run.ts "${@:2}"
  exit
fi
if [ "${1:-}" = migration ]; then
  PLATFORM_URL=$url npx deno run -A tests/postgres/write_migration.ts "${@:2}"
  exit
fi
npm run --silent build
export MUTANTS_DATABASE_URL=$url/mutants COST_DATABASE_URL=$url/cost RULES_DATABASE_URL=$url/rules
TEST_DATABASE_URL=$url/http PGTAP_DATABASE_URL=$url/pgtap PLATFORM_URL=$url npm test -- "$@"
