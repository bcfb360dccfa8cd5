-- Each change of a profile through the Data API consumes a token of RATE_LIMIT_PROFILE, which the Edge Functions share.
select plan(26);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;

-- Runs a statement as the Data API does: as the user, without api.caller.
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
-- The number of tokens consumed since the last call.
create function pg_temp.consumed()
returns bigint
language sql
as $$
  with deleted as (
    delete from private.rate_limits
    returning round(extract(epoch from tat - clock_timestamp()) / 1000) as tokens
  )
  select coalesce(sum(tokens), 0)::bigint from deleted
$$;
select set_config('api.rate_limit_profile', '30/30000/30', true);

select is(pg_temp.change('ana', statement), 'done', 'ana can run ' || statement)
from unnest(array[
  'update public.users set bio = ''Potter''', 'update public.profiles set city = ''Porto''',
  'insert into public.profile_interests select id, 1 from public.profiles',
  'delete from public.profile_interests', 'update public.profiles set is_searchable = true'
]) as statement;
select is(pg_temp.consumed(), 5::bigint, 'each change consumes a token');
select is(
  pg_temp.change('ana', 'update public.profiles set is_searchable = false'), 'done', 'ana can hide her profile'
);
select is(
  pg_temp.change('ana', 'update public.profiles set is_searchable = false'), 'done', 'ana can hide a hidden profile'
);
select is(pg_temp.consumed(), 0::bigint, 'hiding consumes no token');
select is(
  pg_temp.change('ana', 'update public.profiles set is_searchable = false, city = ''Faro'''), 'done',
  'ana can hide her profile and change her city'
);
select is(pg_temp.consumed(), 1::bigint, 'hiding together with another change consumes a token');

select tests.ask('ana', 'update_profile(''{"city": "Braga", "bio": "Painter", "interest_ids": [1]}'')');
select tests.become_owner();
update public.profiles set city = 'Beja' where id = tests.profile_of('ana');
select tests.become_role('service_role');
update public.profiles set city = 'Évora' where id = tests.profile_of('ana');
select tests.become_owner();
select is(
  pg_temp.consumed(), 0::bigint, 'changes by the Edge Functions, the owner and the secret key consume no token here'
);

-- The tokens are shared with the Edge Functions.
select set_config('api.rate_limit_profile', '3/3000', true);
select private.consume_rate_limit(kind => 'RATE_LIMIT_PROFILE', who => auth_id::text, seconds_each => 1000, burst => 3)
from public.users
cross join generate_series(1, 2)
where id = tests.id_of('ana');
select is(
  pg_temp.change('ana', 'update public.users set bio = ''One left'''), 'done',
  'of three tokens the Edge Functions have consumed two, so ana has one left'
);
select is(
  pg_temp.change('ana', 'update public.users set bio = ''None left'''), 'Too many requests, please try again later',
  'without tokens a change is refused'
);
select tests.become_owner();
select is((select bio from public.users where id = tests.id_of('ana')), 'One left', 'a refused change is not written');
select is(pg_temp.change('ben', 'update public.users set bio = ''Mine'''), 'done', 'ben has tokens of his own');

-- Settings
select set_config('api.rate_limit_profile', 'off', true);
select is(pg_temp.change('ana', 'update public.users set bio = ''No limit'''), 'done', 'off disables the limit');
select set_config('api.rate_limit_profile', '', true);
select pg_temp.consumed();
select pg_temp.change('ben', 'update public.users set bio = ''Default''') from generate_series(1, 30);
select is(
  pg_temp.change('ben', 'update public.users set bio = ''Too much'''), 'Too many requests, please try again later',
  'the default is 120/3600/30, as for the Edge Functions'
);
select tests.become_owner();
update private.rate_settings set rate = '2/3600';
select is(
  array(select pg_temp.change('cat', 'update public.users set bio = ''Two''') from generate_series(1, 3)),
  '{done,done,"Too many requests, please try again later"}', 'an operator can change the limit'
);
select tests.become_owner();
update private.rate_settings set rate = 'off';
select is(
  pg_temp.change('cat', 'update public.users set bio = ''No limit'''), 'done', 'an operator can disable the limit'
);
delete from private.rate_settings;
select is(
  pg_temp.change('cat', 'update public.users set bio = ''No limit'''), 'done', 'without a row there is no limit'
);
select throws_ok(
  format('insert into private.rate_settings values (%L, %L)', name, rate), '23514', null,
  format('%s cannot be %s', name, rate)
)
from (
  values
    ('RATE_LIMIT_PROFILE', ''), ('RATE_LIMIT_PROFILE', 'many'), ('RATE_LIMIT_PROFILE', '0/1'),
    ('RATE_LIMIT_PROFILE', '1/1/1/1'), ('RATE_LIMIT_SEND', '1/1')
) as settings (name, rate);
