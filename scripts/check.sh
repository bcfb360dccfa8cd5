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
node scripts/check_packages.mjs
node scripts/check_paths.mjs
# What the formatter leaves: lines of comments, text and SQL over 120 characters. URLs and patterns cannot be broken.
written() { LC_ALL=C.UTF-8 git grep -n "$@" ':!supabase/migrations' ':!sql/seed' ':!clients/openapi.ts'; }
if written -E -e '.{121}' --and --not -e '[^ ]{60}' -- '*.ts' '*.mjs' '*.sql' '*.sh'; then exit 1; fi
# Words of our own where the field has a standard one: anywhere, and as names. In sentences the latter are ordinary.
words='[d]oor|[h]urry|survive_[c]uts|[t]amed'
if written -iE "(^|[^a-z])($words)s?([^a-z]|$)" -- '*.md' '*.ts' '*.mjs' '*.sql' '*.sh'; then exit 1; fi
names='aside|verb|refuse|problem|says|gate|reach|traces|observed|standing|turns|spots|most|few|furthest|besides|hears'
names="$names|speaks|attend|passes|marks|hole|world|storm"
if written -E "^ *(export )?(async )?(const|let|function|type|interface|class|create [a-z ]+) (\w+\.)?($names)\b" -- \
  '*.ts' '*.mjs' '*.sql'; then exit 1; fi
