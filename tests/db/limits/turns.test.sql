-- Turns: a burst at once, then one for every so many seconds; and what is kept of whose they were.
select plan(16);
create function pg_temp.take(who text, kind text default 'walk', seconds_each double precision default 10, burst integer default 3)
returns integer
language sql
as $$ select private.consume_rate_limit(kind, who, seconds_each, burst)::text::integer $$;
-- As though so many seconds had gone by.
create function pg_temp.pass(seconds integer)
returns void
language sql
as $$ update private.rate_limits set tat = tat - make_interval(secs => seconds) $$;

select is(array[pg_temp.take('ana'), pg_temp.take('ana'), pg_temp.take('ana')], '{0,0,0}', 'ana takes three turns at once');
select is(pg_temp.take('ana'), 10, 'for the fourth she waits until one is back');
select is(array[pg_temp.take('ana'), pg_temp.take('ana')], '{10,10}', 'asking again does not make it longer');
select is(pg_temp.take('ben'), 0, 'ben has turns of his own');
select is(pg_temp.take('ana', 'swim'), 0, 'and ana others for something else');

select pg_temp.pass(9);
select is(pg_temp.take('ana'), 1, 'nine seconds later she waits for one more');
select pg_temp.pass(1);
select is(array[pg_temp.take('ana'), pg_temp.take('ana')], '{0,10}', 'then one turn is back, and one alone');
select pg_temp.pass(1000);
select is(
  array[pg_temp.take('ana'), pg_temp.take('ana'), pg_temp.take('ana'), pg_temp.take('ana')], '{0,0,0,10}',
  'turns that are not taken do not add up beyond the burst'
);
select is(array[pg_temp.take('cleo', 'walk', 0.25, 1), pg_temp.take('cleo', 'walk', 0.25, 1)], '{0,1}', 'nobody is told to wait for less than a second');

select is(
  (select array_agg(distinct octet_length(key)) from private.rate_limits), '{32}',
  'what is kept of a person or an address is a hash'
);
select is(
  (select count(*) from private.rate_limits where key = sha256(convert_to('walk ana', 'utf8'))), 0::bigint,
  'which cannot be made without the salt'
);
select is(
  (select array_agg(distinct relpersistence::text) from pg_class where oid in ('private.rate_limits'::regclass, 'private.rate_limit_salts'::regclass)),
  '{u}',
  'and neither is in any backup of the server''s files'
);
update private.rate_limit_salts set valid_on = valid_on - 1;
select is(pg_temp.take('ana'), 0, 'the next day everybody starts anew');
select is((select count(*) from private.rate_limit_salts), 1::bigint, 'and nobody can tell any more who was there the day before');

select pg_temp.pass(5);
insert into private.rate_limits
values ('\x00', now() + interval '1 hour'), ('\x01', now() - interval '1 second');
select private.purge_rate_limits();
select is((select count(*) from private.rate_limits where tat < now()), 0::bigint, 'what says nothing any more is dropped');
select is((select count(*) from private.rate_limits where key = '\x00'), 1::bigint, 'what still counts is not');
