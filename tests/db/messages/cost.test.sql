-- A page reads only the rows that it shows, also of a long conversation among many short ones; a report its evidence.
select plan(7);
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
-- The plans that a connection uses after some calls.
set local plan_cache_mode = force_generic_plan;

create function pg_temp.fetched()
returns bigint
language sql volatile security definer
as $$ select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'public.messages'::regclass $$;
grant execute on function pg_temp.fetched to public;

create function pg_temp.messages_read(call text)
returns bigint
language plpgsql volatile
as $$
declare
  before bigint := pg_temp.fetched();
begin
  perform tests.ask('person1', call);
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
  perform private.messages_after(conversation => conversation, after_id => 0, max_rows => 501);
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

select is(
  pg_temp.messages_read(pg_temp.page('{"limit": 50}')), 51::bigint,
  'the latest page reads its 50 messages and one more to see whether others follow'
);
select is(
  pg_temp.messages_read(pg_temp.page('{"limit": 50, "before_id": $}', 600)), 51::bigint,
  'a page with before_id from the middle reads 51 messages'
);
select is(
  pg_temp.messages_read(pg_temp.page('{"limit": 50, "after_id": $}', 600)), 51::bigint,
  'a page with after_id from the middle reads 51 messages'
);
select is(
  pg_temp.messages_read(pg_temp.page('{"limit": 50, "order": "asc"}')), 51::bigint, 'the oldest page reads 51 messages'
);
select is(
  pg_temp.messages_read('list_conversations(null, 0)'), 24::bigint, 'the list of 24 conversations reads 24 messages'
);
select is(pg_temp.exported(), 501::bigint, 'a piece of an export reads only its messages');
-- So few messages are read at once otherwise; what needs to read all of them still does.
set local enable_seqscan = off;
set local enable_sort = off;
select cmp_ok(
  pg_temp.messages_read(
    format(
      'report_person(%L)',
      json_build_object('user_id', tests.id_of('person2'), 'reason', 'spam', 'share_messages', true)
    )
  ),
  '<=', 60::bigint, 'a report reads the latest 20 messages, a few times'
);
