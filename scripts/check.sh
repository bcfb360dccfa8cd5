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
deno run -A scripts/write_settings.ts --check
sh scripts/check_migrations.sh
# Versions are exact, but of what the user of the client package brings, and every package in the lock file has a hash,
# without which npm installs whatever a registry sends.
if sed '/"peerDependencies"/,/}/d' package.json clients/package.json | grep -E '": "([~^*]|latest)'; then exit 1; fi
hashes=$(grep -cE '"integrity": "sha512-|"link": true' package-lock.json)
[ "$(grep -c '^    ".*node_modules/' package-lock.json)" = "$hashes" ] || { echo 'A package has no hash' >&2; exit 1; }
node scripts/check_paths.mjs
# What the formatter leaves: lines of comments, text and SQL over 120 characters. URLs and patterns cannot be broken.
if LC_ALL=C.UTF-8 git grep -nE -e '.{121}' --and --not -e '[^ ]{60}' -- '*.ts' '*.mjs' '*.sql' '*.sh' \
  ':!supabase/migrations' ':!sql/seed' ':!clients/openapi.ts'; then exit 1; fi
