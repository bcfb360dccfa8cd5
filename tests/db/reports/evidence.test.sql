-- Evidence: which messages are copied with a report, and with whose consent.
select plan(22);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ben'));
insert into public.messages (conversation_id, user_id, content, attachment)
select
  conversations.id, case when n % 2 = 0 then voyager_id else local_id end, format('%s %s', name, n),
  case when n = 30 then '{"url": "https://a/b.png", "name": "b.png", "mime_type": "image/png", "size": 5}'::jsonb end
from public.conversations
join public.users on users.id = voyager_id
cross join generate_series(1, 30) as n
order by n;

create function pg_temp.report(fields jsonb, person text default 'ana')
returns bigint
language plpgsql
as $$
declare
  answer jsonb := tests.ask(person, format('report_person(%L)', '{"reason": "spam"}' || fields));
begin
  perform tests.become_owner();
  return answer -> 'id';
end
$$;
create function pg_temp.message(content text)
returns jsonb
language sql
as $$ select jsonb_build_object('message_id', id) from public.messages where messages.content = message.content $$;
create function pg_temp.evidence(report bigint)
returns text[]
language sql
as $$ select array_agg(content order by message_id) from private.report_evidence where report_id = report $$;
create function pg_temp.texts(first_one integer, last_one integer)
returns text[]
language sql
as $$ select array_agg('ana ' || n order by n) from generate_series(first_one, last_one) as n $$;
create temp table ben as select jsonb_build_object('user_id', tests.id_of('ben')) as fields;

select is(pg_temp.evidence(pg_temp.report(fields)), null, 'a report about a person copies nothing by itself') from ben;
select is(
  pg_temp.evidence(pg_temp.report(pg_temp.message('ana 3'))), array['ana 3'],
  'one about a message copies that message alone'
);
select is(
  pg_temp.evidence(pg_temp.report(pg_temp.message('ana 29') || '{"share_messages": true}')), pg_temp.texts(11, 30),
  'with consent the latest 20 messages of the conversation are copied'
);
select is(
  pg_temp.evidence(pg_temp.report(pg_temp.message('ana 5') || '{"share_messages": true}')),
  array['ana 5'] || pg_temp.texts(11, 30), 'and the reported one, if it is older'
);
select is(
  pg_temp.evidence(pg_temp.report(fields || '{"share_messages": true}')), pg_temp.texts(11, 30),
  'consent can come with a repeat'
)
from ben;
select is(
  (select shares_messages from public.reports order by id limit 1), true, 'then the report says that it was given'
);
insert into public.messages (conversation_id, user_id, content)
values (tests.conversation_of('ana'), tests.id_of('ben'), 'ana 31');
select is(
  pg_temp.evidence(pg_temp.report(fields || '{"share_messages": true}')), pg_temp.texts(11, 30),
  'what is said later is not added'
)
from ben;
select is(
  pg_temp.evidence(pg_temp.report(fields)), pg_temp.texts(11, 30), 'a repeat without it takes nothing away'
)
from ben;
select is(
  pg_temp.evidence(pg_temp.report(jsonb_build_object('user_id', tests.id_of('cat'), 'share_messages', true))), null,
  'where there is no conversation there is nothing to copy'
);
select is_empty(
  $$ select from private.report_evidence where content like 'cat %' $$,
  'messages of other conversations are never copied'
);

select results_eq(
  $$
    select message_id, sent_at, sender_id, is_by_reported, content, attachment
    from public.read_evidence((select min(id) from public.reports))
  $$,
  $$
    select id, created_at, user_id, user_id = tests.id_of('ben'), content, attachment
    from public.messages
    where conversation_id = tests.conversation_of('ana')
    order by id
    offset 10
    limit 20
  $$,
  'admins read when each was sent, by whom, and what it says'
);
select isnt_empty(
  $$ select from public.read_evidence((select min(id) from public.reports)) where attachment ->> 'name' = 'b.png' $$,
  'with its attachment'
);
select throws_ok('select public.read_evidence(99999999)', 'PT404', 'Report not found', 'of an unknown report none');

-- Consent belongs to the report, not to the pair.
select is(
  pg_temp.evidence(pg_temp.report(pg_temp.message('ana 2'), 'ben')), array['ana 2'],
  'ben shares nothing because ana has'
);
select is(
  (select is_by_reported from private.report_evidence order by report_id desc limit 1), true, 'ana has sent it'
);

-- Evidence is a copy.
update public.messages set content = 'changed' where content = 'ana 3';
delete from public.messages where content = 'ana 29';
select isnt_empty($$ select from private.report_evidence where content = 'ana 3' $$, 'a change leaves the copy');
select isnt_empty($$ select from private.report_evidence where content = 'ana 29' $$, 'so does a removal');
delete from public.conversations where voyager_id = tests.id_of('ana');
select is(count(*), 63::bigint, 'and the removal of the conversation') from private.report_evidence;
select throws_ok(
  format($$ select pg_temp.report('{"message_id": %s}') $$, message_id), 'PT404', 'Message not found',
  'a message that was removed cannot be reported any more'
)
from (select max(message_id) as message_id from private.report_evidence) as removed;

-- In one transaction.
select tests.become_owner();
create function pg_temp.fail() returns trigger language plpgsql as $$ begin raise 'no copy'; end $$;
create trigger fail before insert on private.report_evidence for each row execute function pg_temp.fail();
create temp table before as select count(*) as reports from public.reports;
select throws_ok(
  format('select pg_temp.report(%L, %L)', pg_temp.message('cat 1'), 'cat'), 'P0001', 'no copy',
  'without its evidence there is no report'
);
select tests.become_owner();
select is(count(*), (select reports from before), 'none is left') from public.reports;
drop trigger fail on private.report_evidence;
select is(
  pg_temp.evidence(pg_temp.report(pg_temp.message('cat 1'), 'cat')), array['cat 1'], 'and with it there is'
);
