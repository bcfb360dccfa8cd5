#!/bin/sh
# Everything that can be told without running the service: format, lint, types, and that what is derived is up to date.
set -eu
cd "$(dirname "$0")/.."
sh scripts/install.sh
PATH=$PWD/node_modules/.bin:$PATH
deno fmt --check --quiet
deno lint --quiet
deno check --quiet functions supabase clients tests bench docs scripts vitest.config.ts
# Clients run in browsers, too: once more with what a browser has, and nothing of Deno or Node.
deno check --quiet --config scripts/browser.json clients demo
deno run -A scripts/write_openapi.ts --check
deno run -A scripts/write_baseline.ts --check
node scripts/same_versions.mjs
node scripts/lock_integrity.mjs
