#!/bin/sh
# Every check that does not run the service: format, lint, types, style, and generated files. Prints nothing but errors.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
deno fmt --check --quiet
deno lint --quiet
# A function imports from _shared and from no other function.
if grep -rnE "from '\.\./[^_]" functions/[a-z]*; then exit 1; fi
# bench/peer/server.js has packages of its own.
deno check --quiet functions supabase clients tests embedder bench/*.ts bench/*/*.ts docs scripts vitest.config.ts
# The clients also run in browsers: check them without the types of Deno and Node.
deno check --quiet --config scripts/browser.json clients demo admin
deno run -A scripts/write_openapi.ts --check
node scripts/check_migrations.mjs
deno run -A scripts/write_settings.ts --check
node scripts/check_packages.mjs
node scripts/check_style.mjs
node scripts/check_paths.mjs
