-- scope_to_conversation narrows what the caller can read to one conversation and never adds anything.
select plan(8);
select tests.make_person(name) from unnest(array['ana', 'ben', 'eve', 'mallory']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('eve', 'ana');

-- Whose conversations the caller can read messages and reservations of.
create function pg_temp.sees(scope text default null)
returns text
language sql
as $$
  select private.scope_to_conversation(tests.conversation_of(scope));
  select concat_ws(
    ' / ',
    (select string_agg(name, ' ' order by name) from unnest(array['ana', 'eve']) as name
      where tests.conversation_of(name) in (select conversation_id from public.messages)),
    (select string_agg(name, ' ' order by name) from unnest(array['ana', 'eve']) as name
      where tests.conversation_of(name) in (select conversation_id from public.reservations))
  )
$$;
grant execute on function pg_temp.sees to public;

select tests.become('ana');
select is(pg_temp.sees(), 'ana eve / ana eve', 'ana can read both her conversations');
select is(pg_temp.sees('eve'), 'eve / eve', 'in the scope of one conversation ana can read only that');
select is(pg_temp.sees(), 'ana eve / ana eve', 'without the scope ana can read both again');
select tests.become('mallory');
select is(pg_temp.sees('ana'), '', 'mallory cannot read a conversation of others in its scope');
select tests.become(null);
select throws_ok('select private.scope_to_conversation(1)', '42501', null, 'an anonymous caller cannot set a scope');
select tests.become_owner();

create function pg_temp.scope_after(call text)
returns text
language plpgsql
as $$
begin
  perform tests.ask('ana', format(call, tests.conversation_of('eve')));
  return coalesce(current_setting('api.conversation', true), '');
end
$$;
select is(pg_temp.scope_after(call), '', call || ' resets the scope')
from unnest(array['list_messages(%s, ''{"limit": 50}'')', 'get_conversation(%s)']) as call;
select tests.become('ana');
select is(pg_temp.sees(), 'ana eve / ana eve', 'so ana can read both afterwards');
