#!/bin/sh
# Installs the Deno level that Supabase's Edge Runtime claims, from npm, and prints where it is. Does nothing if it is there.
#   usage: scripts/install_platform_deno.sh
set -eu
cd "$(dirname "$0")/.."
version=2.1.4
folder=$PWD/.cache/deno-$version
[ -x "$folder/node_modules/.bin/deno" ] ||
  npm install --prefix "$folder" --no-audit --no-fund --loglevel=error --ignore-scripts "deno@$version" > /dev/null
"$folder/node_modules/.bin/deno" --version > /dev/null
echo "$folder/node_modules/.bin/deno"
