# Read by the runners, at the root of the clone: installs Postgres 17 as $PREFIX, and says how to start a server.
export PREFIX=${PREFIX:-$PWD/.cache/postgres17}
# Started as root, the server runs as user nobody, who may not be able to read this clone.
if [ "$PREFIX" = "$PWD/.cache/postgres17" ] && [ "$(id -u)" = 0 ] &&
  ! setpriv --reuid=nobody --regid=nogroup --clear-groups test -r "$PWD/package.json"; then
  PREFIX=/tmp/postgres17-$(sha256sum tests/postgres/install.sh | head -c 8)
fi
bash tests/postgres/install.sh "$PREFIX"
# Sets its $port and $url. It ends with the runner.
start_server() {
  # In /tmp, because user nobody may not be able to enter the home folder.
  data=$(mktemp -d /tmp/postgres17.XXXXXX)
  chmod 755 "$data"
  trap 'bash tests/postgres/server.sh stop "$data/data"; rm -rf "$data"' EXIT
  port=${POSTGRES_TEST_PORT:-$(node -e 'const server = require("net").createServer().listen(0, "127.0.0.1", () => {
    console.log(server.address().port)
    server.close()
  })')}
  bash tests/postgres/server.sh start "$data/data" "$port" "$@"
  url=postgresql://supabase_admin@127.0.0.1:$port
}
