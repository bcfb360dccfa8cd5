#!/bin/sh
# Makes a release of what is committed, and says what it wrote: the version, the heading in CHANGELOG.md, and the list
# of migrations that are frozen from now on, which nothing else writes. Usage: npm run release -- VERSION
set -eu
version=${1:-} heading='## [Unreleased]' today=$(date -u +%F)
refuse() { echo "$1" >&2; exit 1; }
echo "$version" | grep -qxE '[0-9]+\.[0-9]+\.[0-9]+' || refuse 'usage: npm run release -- VERSION (as 1.1.0)'
last=$(sed -n 's/^## \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | head -n 1)
[ "$version" != "$last" ] && [ "$(printf '%s\n' "$last" "$version" | sort -V | tail -n 1)" = "$version" ] ||
  refuse "The last release is $last"
awk -v heading="$heading" '/^## /{isIn = $0 == heading; next} isIn' CHANGELOG.md | grep -q . ||
  refuse "CHANGELOG.md says nothing under ${heading#\#\# }"
[ -z "$(git status --porcelain)" ] || refuse 'Commit or stash your changes first'

npm version "$version" --workspaces --include-workspace-root --no-git-tag-version --no-workspaces-update > /dev/null
npm install --package-lock-only --ignore-scripts --no-audit --no-fund > /dev/null
npm run --silent openapi
awk -v heading="$heading" -v released="## [$version] - $today" \
  '{print} $0 == heading {print "\n" released}' CHANGELOG.md > CHANGELOG.new
mv CHANGELOG.new CHANGELOG.md
{ echo "# $version, $today"; sha256sum supabase/migrations/*; } > supabase/released.sha256

echo "Version $version is in $(git diff --name-only | paste -sd ' ' -) and
freezes the migrations that supabase/released.sha256 lists. If .ci/run passes:
  git add --all && git commit -m 'Release $version'
  git tag -a v$version -m 'Release $version' && git push --follow-tags"
