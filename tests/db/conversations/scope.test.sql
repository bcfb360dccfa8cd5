-- scope_to_conversation narrows what the caller can read to one conversation and never adds anything.
select plan(10);
select tests.make_person(name) from unnest(array['ana', 'ben', 'eve', 'mallory']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('eve', 'ana');

create function pg_temp.scope_to_that_of(voyager text)
returns void
language sql
as $$ select private.scope_to_conversation(tests.conversation_of(voyager)) $$;
grant execute on function pg_temp.scope_to_that_of to public;

create function pg_temp.sees(noun text)
returns text
language plpgsql
as $$
declare
  owners text;
begin
  execute format(
    'select string_agg(users.name, '' '' order by users.name)
     from public.%I as noun
     cross join lateral (
       select name
       from unnest(array[''ana'', ''ben'', ''eve'']) as name
       where tests.conversation_of(name) = conversation_id
     ) as users',
    noun
  )
  into owners;
  return owners;
end
$$;
grant execute on function pg_temp.sees to public;

select tests.become('ana');
select is(pg_temp.sees('messages'), 'ana eve', 'ana can read the messages of both her conversations');
select pg_temp.scope_to_that_of('eve');
select is(pg_temp.sees('messages'), 'eve', 'in the scope of one conversation ana can read only its messages');
select is(pg_temp.sees('reservations'), 'eve', 'in the scope of one conversation ana can read only its reservations');
select private.scope_to_conversation(null);
select is(pg_temp.sees('messages'), 'ana eve', 'without the scope ana can read both again');
select tests.become('mallory');
select pg_temp.scope_to_that_of('ana');
select is(pg_temp.sees('messages'), null, 'mallory cannot read messages in the scope of a conversation of others');
select is(
  pg_temp.sees('reservations'), null, 'mallory cannot read reservations in the scope of a conversation of others'
);
select tests.become(null);
select throws_ok('select private.scope_to_conversation(1)', '42501', null, 'an anonymous caller cannot set a scope');
select tests.become_owner();
select private.scope_to_conversation(null);

select tests.become('ana');
select tests.ask('ana', format('list_messages(%s, ''{"limit": 50}'')', tests.conversation_of('eve')));
select tests.become('ana');
select is(pg_temp.sees('messages'), 'ana eve', 'list_messages resets the scope');
select tests.ask('ana', format('get_conversation(%s)', tests.conversation_of('eve')));
select tests.become('ana');
select is(pg_temp.sees('messages'), 'ana eve', 'get_conversation resets the scope');
select is(coalesce(current_setting('api.conversation', true), ''), '', 'the setting is empty afterwards');
