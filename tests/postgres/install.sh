#!/usr/bin/env bash
# Unpacks Debian packages into a folder: Postgres 17 with pgvector, pgTAP, plpgsql_check and pg_cron, PgBouncer, and wrk
# for bench/endpoints. Takes 5 s and 100 MB, needs no root and changes nothing else. Does nothing if they are there.
#   usage: tests/postgres/install.sh [FOLDER]      default .cache/postgres17
set -euo pipefail
cd "$(dirname "$0")/../.."
prefix=$(realpath -m "${1:-.cache/postgres17}")
bin=$prefix/usr/lib/postgresql/17/bin
packages=(
  postgresql-17 postgresql-client-17 postgresql-17-pgvector postgresql-17-pgtap postgresql-17-plpgsql-check
  postgresql-17-cron pgbouncer wrk
  # Every shared library that they link, so that none of the host is used.
  libc6 libgcc-s1 libstdc++6 libpq5 libssl3t64 libzstd1 liblz4-1 zlib1g liblzma5 libxml2 libxslt1.1 libicu76 libldap2
  libsasl2-2 libpam0g libaudit1 libcap-ng0 libselinux1 libpcre2-8-0 libsystemd0 libcap2 libuuid1 libgssapi-krb5-2
  libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libreadline8t64 libtinfo6 libgcrypt20 libgpg-error0
  libxxhash0 libevent-2.1-7t64 libcares2 libluajit-5.1-2
)
[ "$(cat "$prefix/complete" 2> /dev/null)" = "${packages[*]}" ] && exit 0

# Packages signed by Debian, from the mirror that this machine already uses.
find_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/\?$'
}
mirror=${DEBIAN_MIRROR:-$(find_mirror || true)}
if [ -z "$mirror" ]; then
  [ "$(id -u)" = 0 ] && apt-get -qq update
  mirror=$(find_mirror)
fi
keyring=${DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
work=$prefix.work
rm -rf "$prefix" "$work"
mkdir -p "$prefix" "$work"/{state/lists/partial,cache/archives/partial,sources.list.d,debs}
trap 'rm -rf "$work"' EXIT
: > "$work/state/status"
cat > "$work/sources.list.d/trixie.sources" <<SOURCES
Types: deb
URIs: $mirror
Suites: trixie trixie-updates
Components: main
Architectures: amd64
Signed-By: $keyring
SOURCES
cat > "$work/apt.conf" <<CONF
Dir::State "$work/state";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$work/sources.list.d";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "$work/sources.list.d";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "root";
CONF
export APT_CONFIG=$work/apt.conf
apt-get -qq update
(cd "$work/debs" && apt-get -qq download "${packages[@]}" patchelf)
for deb in "$work"/debs/*.deb; do
  case $deb in
    */patchelf_*) dpkg-deb -x "$deb" "$work/patchelf" ;;
    *) dpkg-deb -x "$deb" "$prefix" ;;
  esac
done

lib=$prefix/usr/lib/x86_64-linux-gnu
loader=$lib/ld-linux-x86-64.so.2
patchelf="$work/patchelf/usr/bin/patchelf"
"$patchelf" --version > /dev/null 2>&1 || patchelf="$loader --library-path $lib $patchelf"
for file in "$bin"/* "$prefix/usr/sbin/pgbouncer" "$prefix/usr/bin/wrk"; do
  [ "$(head -c4 "$file" | tail -c3)" = ELF ] || continue
  # RPATH, unlike RUNPATH, also applies to libraries of libraries. LD_LIBRARY_PATH would break programs of the host.
  $patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$lib" "$file"
done
# Supabase lets role postgres, which is not a superuser, create these extensions. In Postgres that is "trusted".
for extension in vector pgtap plpgsql_check pg_stat_statements pg_cron; do
  control=$prefix/usr/share/postgresql/17/extension/$extension.control
  grep -q '^trusted' "$control" || printf '\ntrusted = true\n' >> "$control"
done
"$bin/postgres" --version
"$prefix/usr/sbin/pgbouncer" --version | head -1
echo "${packages[*]}" > "$prefix/complete"
