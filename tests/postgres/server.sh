#!/usr/bin/env bash
# A throw-away Postgres 17 on loopback, never as root.
#   usage: tests/postgres/server.sh start DATA PORT [durable] | standby DATA PORT PRIMARYS_PORT | again DATA | stop DATA
#   PREFIX: where install.sh unpacked it; POSTGRES_CONF: lines that override its settings
# `durable` keeps fsync on; `again` restarts a server that crashed.
set -euo pipefail
prefix=$(realpath "${PREFIX:-$(dirname "$0")/../../.cache/postgres17}")
bin=$prefix/usr/lib/postgresql/17/bin
command=$1
data=$(realpath -m "$2")
# Of each process, in KB: a statement that takes more, as a mutant may, fails, and the machine goes on.
ulimit -v 2097152
unprivileged() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/tmp LC_ALL=C.UTF-8 "$@"
  else
    LC_ALL=C.UTF-8 "$@"
  fi
}
case $command in
  start)
    rm -rf "$data"
    mkdir -p "$data"
    [ "$(id -u)" != 0 ] || chown nobody:nogroup "$data"
    cd /
    unprivileged "$bin/initdb" -D "$data" -U supabase_admin --encoding=UTF8 --locale-provider=icu --icu-locale=en-US \
      --locale=C.UTF-8 --auth-host=trust --auth-local=trust --no-sync > /dev/null
    cat >> "$data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $3
unix_socket_directories = '$data'
wal_level = logical
# Its worker runs in database postgres, as on Supabase.
shared_preload_libraries = 'pg_cron'
jit = off
# Each bundle of a stack has a pool of its own.
max_connections = 300
CONF
    # Deleted after the tests, so durability is not needed.
    [ "${4:-}" = durable ] || cat >> "$data/postgresql.conf" <<CONF
fsync = off
synchronous_commit = off
full_page_writes = off
CONF
    echo "${POSTGRES_CONF:-}" >> "$data/postgresql.conf"
    unprivileged "$bin/pg_ctl" -D "$data" -w -t 30 -l "$data/log" start > /dev/null
    ;;
  standby)
    rm -rf "$data"
    mkdir -p -m 700 "$data"
    [ "$(id -u)" != 0 ] || chown nobody:nogroup "$data"
    cd /
    unprivileged "$bin/pg_basebackup" -D "$data" -d "postgresql://supabase_admin@127.0.0.1:$4" -R --checkpoint=fast \
      --no-sync
    printf "port = %s\nunix_socket_directories = '%s'\n" "$3" "$data" >> "$data/postgresql.conf"
    unprivileged "$bin/pg_ctl" -D "$data" -w -t 30 -l "$data/log" start > /dev/null
    ;;
  again)
    cd /
    # Backends that outlive their postmaster for a moment keep the shared memory in use.
    for _ in $(seq 100); do
      unprivileged "$bin/pg_ctl" -D "$data" -w -t 30 -l "$data/log" start > /dev/null 2>&1 && exit
      sleep 0.1
    done
    exit 1
    ;;
  stop)
    cd /
    unprivileged "$bin/pg_ctl" -D "$data" -m immediate -w stop > /dev/null
    ;;
esac
