-- A verb about one conversation narrows what its caller sees to that one while it looks, and widens nothing.
select plan(10);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('eve');
select tests.make_person('mallory');
select tests.make_history('ana', 'ben');
select tests.make_history('eve', 'ana');

create function pg_temp.look_at_that_of(voyager text)
returns void
language sql
as $$ select private.scope_to_conversation(tests.conversation_of(voyager)) $$;
grant execute on function pg_temp.look_at_that_of to public;

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
     cross join lateral (select name from unnest(array[''ana'', ''ben'', ''eve'']) as name where tests.conversation_of(name) = conversation_id) as users',
    noun
  )
  into owners;
  return owners;
end
$$;
grant execute on function pg_temp.sees to public;

select tests.become('ana');
select is(pg_temp.sees('messages'), 'ana eve', 'ana sees the messages of both her conversations');
select pg_temp.look_at_that_of('eve');
select is(pg_temp.sees('messages'), 'eve', 'while she looks at one, of that one alone');
select is(pg_temp.sees('reservations'), 'eve', 'and its reservations alone');
select private.scope_to_conversation(null);
select is(pg_temp.sees('messages'), 'ana eve', 'then of both again');
select tests.become('mallory');
select pg_temp.look_at_that_of('ana');
select is(pg_temp.sees('messages'), null, 'mallory sees nothing of a conversation that she looks at');
select is(pg_temp.sees('reservations'), null, 'nor its reservations');
select tests.become(null);
select throws_ok('select private.scope_to_conversation(1)', '42501', null, 'who is anonymous looks at none');
select tests.become_owner();
select private.scope_to_conversation(null);

select tests.become('ana');
select tests.ask('ana', format('list_messages(%s, ''{"limit": 50}'')', tests.conversation_of('eve')));
select tests.become('ana');
select is(pg_temp.sees('messages'), 'ana eve', 'a page leaves nothing narrowed');
select tests.ask('ana', format('get_conversation(%s)', tests.conversation_of('eve')));
select tests.become('ana');
select is(pg_temp.sees('messages'), 'ana eve', 'nor does a conversation');
select is(coalesce(current_setting('api.conversation', true), ''), '', 'and neither says what was looked at');
