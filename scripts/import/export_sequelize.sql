-- Writes the files of an import (docs/migrate.md) from the tables of the service with Express and Sequelize, into the
-- current folder. Adapt the names; nulls are left out. With what has changed since a moment only:
--   psql "$OLD_DATABASE_URL" -v since=2026-11-27T10:00:00Z -f scripts/import/export_sequelize.sql
\set ON_ERROR_STOP on
\set FETCH_COUNT 10000
\pset format unaligned
\pset tuples_only on
\if :{?since}
\else
  \set since -infinity
\endif

\o users.jsonl
select json_strip_nulls(row_to_json(line)) from (
  select id, name, email, password as password_hash, bio, location, role, is_active, created_at, updated_at
  from users where updated_at >= :'since' order by id
) as line;

\o interests.jsonl
select json_build_object('name', name) from interests order by id;

\o profiles.jsonl
select json_strip_nulls(row_to_json(line)) from (
  select id, user_id, first_name, last_name, age, biography, country, city, image_url, is_searchable, updated_at, array(
    select name from profile_interests join interests on interests.id = interest_id where profile_id = profiles.id
  ) as interests
  from profiles where updated_at >= :'since' order by id
) as line;

\o conversations.jsonl
select row_to_json(line) from (
  select id, voyager_id, local_id, created_at from conversations where created_at >= :'since' order by id
) as line;

\o messages.jsonl
select json_strip_nulls(row_to_json(line)) from (
  select id, conversation_id, user_id, content, attachment, read, created_at, updated_at
  from messages where updated_at >= :'since' order by id
) as line;

\o reservations.jsonl
select json_strip_nulls(row_to_json(line)) from (
  select id, conversation_id, title, price, date, status, created_at, updated_at
  from reservations where updated_at >= :'since' order by id
) as line;
