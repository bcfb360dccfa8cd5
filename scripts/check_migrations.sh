#!/bin/sh
# A released migration keeps its bytes, since `db push` never applies it again; a newer one comes behind them all, or
# `db push` would refuse it. Usage: check_migrations.sh, in the root of the repository.
set -eu
refuse() { echo "$1 (CONTRIBUTING.md, Add a migration)" >&2; exit 1; }
sha256sum -c --quiet --strict supabase/released.sha256 || refuse 'A released migration has changed: add another one'
released=$(sed -n 's/^[0-9a-f]*  //p' supabase/released.sha256)
[ "$(ls supabase/migrations/* | head -n "$(echo "$released" | wc -l)")" = "$released" ] ||
  refuse 'A migration that is not released is older than one that is: rename it'
