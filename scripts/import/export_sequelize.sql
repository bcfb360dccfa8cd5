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
select json_strip_nulls(json_build_object(
  'id', id, 'name', name, 'email', email, 'password_hash', password, 'bio', bio, 'location', location, 'role', role,
  'is_active', is_active, 'created_at', created_at, 'updated_at', updated_at
))
from users
where updated_at >= :'since'
order by id;

\o interests.jsonl
select json_build_object('name', name) from interests order by id;

\o profiles.jsonl
select json_strip_nulls(json_build_object(
  'id', id, 'user_id', user_id, 'first_name', first_name, 'last_name', last_name, 'age', age, 'biography', biography,
  'country', country, 'city', city, 'image_url', image_url, 'is_searchable', is_searchable, 'interests', array(
    select name
    from profile_interests
    join interests on interests.id = interest_id
    where profile_id = profiles.id
  ),
  'updated_at', updated_at
))
from profiles
where updated_at >= :'since'
order by id;

\o conversations.jsonl
select json_build_object('id', id, 'voyager_id', voyager_id, 'local_id', local_id, 'created_at', created_at)
from conversations
where created_at >= :'since'
order by id;

\o messages.jsonl
select json_strip_nulls(json_build_object(
  'id', id, 'conversation_id', conversation_id, 'user_id', user_id, 'content', content, 'attachment', attachment,
  'read', read, 'created_at', created_at, 'updated_at', updated_at
))
from messages
where updated_at >= :'since'
order by id;

\o reservations.jsonl
select json_strip_nulls(json_build_object(
  'id', id, 'conversation_id', conversation_id, 'title', title, 'price', price, 'date', date, 'status', status,
  'created_at', created_at, 'updated_at', updated_at
))
from reservations
where updated_at >= :'since'
order by id;
\o
