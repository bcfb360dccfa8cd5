-- A page costs what it shows: of a long conversation among many short ones no more is read.
select plan(6);
select tests.make_person('person' || number) from generate_series(1, 25) as number;
insert into public.conversations (voyager_id, local_id)
select voyager.id, local.id
from public.users as voyager
join public.users as local on local.id > voyager.id
where voyager.name like 'person%' and local.name like 'person%';
insert into public.messages (conversation_id, user_id, content)
select id, voyager_id, 'Hello'
from public.conversations;
insert into public.messages (conversation_id, user_id, content)
select tests.conversation_of('person1'), tests.id_of('person1'), number::text
from generate_series(2, 1200) as number;
analyze public.messages, public.conversations;
-- What a connection settles for after some calls.
set local plan_cache_mode = force_generic_plan;

create function pg_temp.fetched()
returns bigint
language sql volatile security definer
as $$ select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'public.messages'::regclass $$;
grant execute on function pg_temp.fetched to public;

create function pg_temp.messages_read(verb text)
returns bigint
language plpgsql volatile
as $$
declare
  before bigint := pg_temp.fetched();
begin
  perform tests.ask('person1', verb);
  return pg_temp.fetched() - before;
end
$$;
grant execute on function pg_temp.messages_read to public;

create function pg_temp.exported()
returns bigint
language plpgsql volatile
as $$
declare
  before bigint := pg_temp.fetched();
  conversation bigint := tests.conversation_of('person1');
begin
  perform tests.become('person1');
  perform private.messages_after(conversation, 0, 501);
  return pg_temp.fetched() - before;
end
$$;
grant execute on function pg_temp.exported to public;

create function pg_temp.page(page text, cursor_at integer default 1)
returns text
language sql security definer
as $$
  select format('list_messages(%s, %L)', tests.conversation_of('person1'), replace(page, '$', id::text))
  from public.messages
  where conversation_id = tests.conversation_of('person1')
  order by id
  offset cursor_at - 1
  limit 1
$$;
grant execute on function pg_temp.page to public;

select is(pg_temp.messages_read(pg_temp.page('{"limit": 50}')), 51::bigint, 'the latest page reads its 50 messages, and one to see that there are more');
select is(pg_temp.messages_read(pg_temp.page('{"limit": 50, "before_id": $}', 600)), 51::bigint, 'so does one in the middle, backwards');
select is(pg_temp.messages_read(pg_temp.page('{"limit": 50, "after_id": $}', 600)), 51::bigint, 'and forwards');
select is(pg_temp.messages_read(pg_temp.page('{"limit": 50, "order": "asc"}')), 51::bigint, 'and the oldest');
select is(pg_temp.messages_read('list_conversations(null, 0)'), 24::bigint, 'the list reads the latest message of each of 24 conversations');
select is(pg_temp.exported(), 501::bigint, 'and a piece of an export what it holds');
