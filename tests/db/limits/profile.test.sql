-- Changes of a profile through the Data API take a turn each, the ones that the functions took for them.
select plan(26);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('cat');

-- As the Data API writes: as the person, and nothing said of a function.
create function pg_temp.change(person text, statement text)
returns text
language plpgsql
as $$
begin
  perform tests.become(person);
  execute statement;
  perform tests.become_owner();
  return 'done';
exception
  when sqlstate 'PT429' then
    return sqlerrm;
end
$$;
create function pg_temp.taken()
returns bigint
language sql
as $$
  with counted as (delete from private.rate_limits returning round(extract(epoch from tat - clock_timestamp()) / 1000) as turns)
  select coalesce(sum(turns), 0)::bigint from counted
$$;
select set_config('api.rate_limit_profile', '30/30000/30', true);

select is(pg_temp.change('ana', statement), 'done', statement)
from unnest(array[
  'update public.users set bio = ''Potter''', 'update public.profiles set city = ''Porto''', 'insert into public.profile_interests select id, 1 from public.profiles',
  'delete from public.profile_interests', 'update public.profiles set is_searchable = true'
]) as statement;
select is(pg_temp.taken(), 5::bigint, 'each change of ana''s takes a turn');
select is(pg_temp.change('ana', 'update public.profiles set is_searchable = false'), 'done', 'she hides');
select is(pg_temp.change('ana', 'update public.profiles set is_searchable = false'), 'done', 'and is hidden');
select is(pg_temp.taken(), 0::bigint, 'which takes none');
select is(pg_temp.change('ana', 'update public.profiles set is_searchable = false, city = ''Faro'''), 'done', 'she hides and moves');
select is(pg_temp.taken(), 1::bigint, 'which takes one');

select tests.ask('ana', 'update_profile(''{"city": "Braga", "bio": "Painter", "interest_ids": [1]}'')');
select tests.become_owner();
update public.profiles set city = 'Beja' where id = tests.profile_of('ana');
select tests.become_role('service_role');
update public.profiles set city = 'Évora' where id = tests.profile_of('ana');
select tests.become_owner();
select is(pg_temp.taken(), 0::bigint, 'what a function does has been counted before, and what admins do is not');

-- The same turns, by whichever way.
select set_config('api.rate_limit_profile', '3/3000', true);
select private.consume_rate_limit('RATE_LIMIT_PROFILE', (select auth_id::text from public.users where id = tests.id_of('ana')), 1000, 3) from generate_series(1, 2);
select is(pg_temp.change('ana', 'update public.users set bio = ''One left'''), 'done', 'of three turns the functions took two, and ana has one left');
select is(
  pg_temp.change('ana', 'update public.users set bio = ''None left'''), 'Too many requests, please try again later', 'and then none'
);
select tests.become_owner();
select is((select bio from public.users where id = tests.id_of('ana')), 'One left', 'what was refused is not written');
select is(pg_temp.change('ben', 'update public.users set bio = ''Mine'''), 'done', 'ben has turns of his own');

-- The setting.
select set_config('api.rate_limit_profile', 'off', true);
select is(pg_temp.change('ana', 'update public.users set bio = ''No limit'''), 'done', 'off is no limit');
select set_config('api.rate_limit_profile', '', true);
select pg_temp.taken();
select pg_temp.change('ben', 'update public.users set bio = ''Default''') from generate_series(1, 30);
select is(
  pg_temp.change('ben', 'update public.users set bio = ''Too much'''), 'Too many requests, please try again later',
  'where nothing is said it is 120/3600/30, as with the functions'
);
select tests.become_owner();
update private.rate_settings set rate = '2/3600';
select is(
  array(select pg_temp.change('cat', 'update public.users set bio = ''Two''') from generate_series(1, 3)),
  '{done,done,"Too many requests, please try again later"}', 'an operator says otherwise'
);
select tests.become_owner();
update private.rate_settings set rate = 'off';
select is(pg_temp.change('cat', 'update public.users set bio = ''No limit'''), 'done', 'or takes the limit away');
delete from private.rate_settings;
select is(pg_temp.change('cat', 'update public.users set bio = ''No limit'''), 'done', 'altogether');
select throws_ok(
  format('insert into private.rate_settings values (%L, %L)', name, rate), '23514', null, format('%s cannot be %s', name, rate)
)
from (
  values ('RATE_LIMIT_PROFILE', ''), ('RATE_LIMIT_PROFILE', 'many'), ('RATE_LIMIT_PROFILE', '0/1'), ('RATE_LIMIT_PROFILE', '1/1/1/1'), ('RATE_LIMIT_SEND', '1/1')
) as settings (name, rate);
