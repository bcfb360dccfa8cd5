-- consume_rate_limit: a burst at once, then a token every seconds_each; and how little it stores.
select plan(16);
create function pg_temp.consume(
  who text, kind text default 'send', seconds_each double precision default 10, burst integer default 3
)
returns integer
language sql
as $$
  select private.consume_rate_limit(
    kind => kind, who => who, seconds_each => seconds_each, burst => burst
  )::text::integer
$$;
-- Moves the clock on.
create function pg_temp.wait(seconds integer)
returns void
language sql
as $$ update private.rate_limits set tat = tat - make_interval(secs => seconds) $$;

select is(
  array(select pg_temp.consume('ana') from generate_series(1, 3)), '{0,0,0}', 'ana has a burst of three tokens'
);
select is(pg_temp.consume('ana'), 10, 'for a fourth token ana waits until the next one');
select is(
  array[pg_temp.consume('ana'), pg_temp.consume('ana')], '{10,10}', 'refused calls do not make the wait longer'
);
select is(pg_temp.consume('ben'), 0, 'ben has tokens of his own');
select is(pg_temp.consume('ana', 'search'), 0, 'ana has other tokens for another kind of request');

select pg_temp.wait(9);
select is(pg_temp.consume('ana'), 1, 'after nine seconds the wait is one second');
select pg_temp.wait(1);
select is(array[pg_temp.consume('ana'), pg_temp.consume('ana')], '{0,10}', 'after ten seconds there is one token');
select pg_temp.wait(1000);
select is(
  array(select pg_temp.consume('ana') from generate_series(1, 4)), '{0,0,0,10}',
  'unused tokens do not add up beyond the burst'
);
select is(
  array(select pg_temp.consume('cleo', seconds_each => 0.25, burst => 1) from generate_series(1, 2)), '{0,1}',
  'the wait is at least one second'
);

select is((select array_agg(distinct octet_length(key)) from private.rate_limits), '{32}', 'the key is a hash');
select is(
  (select count(*) from private.rate_limits where key = sha256(convert_to('send ana', 'utf8'))), 0::bigint,
  'the hash cannot be computed without the salt'
);
select is(
  (
    select array_agg(distinct relpersistence::text)
    from pg_class
    where oid in ('private.rate_limits'::regclass, 'private.rate_limit_salts'::regclass)
  ),
  '{u}',
  'both tables are unlogged, so that no physical backup holds them'
);
update private.rate_limit_salts set valid_on = valid_on - 1;
select is(pg_temp.consume('ana'), 0, 'on the next day the burst is full again');
select is((select count(*) from private.rate_limit_salts), 1::bigint, 'the salt of the day before is deleted');

select pg_temp.wait(5);
insert into private.rate_limits
values ('\x00', now() + interval '1 hour'), ('\x01', now() - interval '1 second');
select private.purge_rate_limits();
select is(
  (select count(*) from private.rate_limits where tat < now()), 0::bigint, 'purging deletes rows whose tat has passed'
);
select is((select count(*) from private.rate_limits where key = '\x00'), 1::bigint, 'purging keeps the other rows');
