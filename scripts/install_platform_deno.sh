#!/bin/sh
# Installs the version of Deno that Supabase's Edge Runtime reports, from npm, and prints its path. Does nothing if it
# is installed.
set -eu
cd "$(dirname "$0")/.."
version=2.1.4
folder=$PWD/.cache/deno-$version
[ -x "$folder/node_modules/.bin/deno" ] ||
  npm install --prefix "$folder" --no-audit --no-fund --loglevel=error --ignore-scripts "deno@$version" > /dev/null
# The first run of the wrapper puts the program itself beside it.
"$folder/node_modules/.bin/deno" --version > /dev/null
echo "$folder/node_modules/deno/deno"
