import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

// As pg_net does: functions in a schema of its own, whatever schema the extension is created in, and not to be moved.
const control = "default_version = '1'\nrelocatable = false\nsuperuser = true\ntrusted = true\n"
const script = `
  create schema net;
  create table net.sent (
    id bigint generated always as identity, url text, headers jsonb, body jsonb, is_posted boolean default false
  );
  create table net._http_response (id bigint, status_code integer, content text, created timestamptz default now());
  create function net.http_post(
    url text, body jsonb, params jsonb default '{}', headers jsonb default '{}',
    timeout_milliseconds integer default 5000
  )
  returns bigint language sql as 'insert into net.sent (url, headers, body) values (url, headers, body) returning id';
  grant all on schema net to postgres;
  grant all on all tables in schema net to postgres;
`

/** Makes a stand-in for the extension pg_net, which Debian does not package. It keeps what it is to send. */
export const providePgNet = (): void => {
  const extensions = join(process.env.PREFIX!, 'usr/share/postgresql/17/extension')
  writeFileSync(join(extensions, 'pg_net.control'), control)
  writeFileSync(join(extensions, 'pg_net--1.sql'), script)
}

/** A stand-in for Vault, which keeps secrets in plain text. */
export const vault = `
  create schema vault;
  create table vault.decrypted_secrets (name text primary key, decrypted_secret text);
  create function vault.create_secret(secret text, name text) returns void language sql as
    'insert into vault.decrypted_secrets values (name, secret)';
  grant all on schema vault to postgres;
  grant all on all tables in schema vault to postgres;
`
