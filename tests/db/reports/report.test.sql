-- Reports: what can be reported, once for each subject, and exactly once with a key.
select plan(49);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'mallory', 'dora']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('ben'));
insert into public.messages (conversation_id, user_id, content)
select id, person, 'Hello'
from public.conversations
cross join unnest(array[voyager_id, local_id]) as person;
update public.users set is_active = false where id = tests.id_of('dora');

-- Reports ben as this person, unless the fields say whom else.
create function pg_temp.report(person text, fields jsonb default '{}')
returns jsonb
language plpgsql
as $$
declare
  answer jsonb;
begin
  perform set_config('api.response_metadata', '', true);
  answer := tests.ask(
    person,
    format(
      'report_person(%L)',
      case when fields ? 'message_id' then '{}' else jsonb_build_object('user_id', tests.id_of('ben')) end
        || '{"reason": "spam"}' || fields
    )
  );
  perform tests.become_owner();
  return answer;
end
$$;
-- The message of a person to another one.
create function pg_temp.message(sender text, recipient text)
returns jsonb
language sql
as $$
  select jsonb_build_object('message_id', messages.id)
  from public.messages
  join public.conversations on conversations.id = conversation_id
  where user_id = tests.id_of(sender) and tests.id_of(recipient) in (voyager_id, local_id)
$$;
create function pg_temp.metadata()
returns jsonb
language sql
as $$ select current_setting('api.response_metadata')::jsonb $$;

select matches(
  pg_temp.report('ana', '{"note": "Too much"}')::text,
  '^\{"id": \d+, "reason": "spam", "status": "open", "createdAt": "[-:.TZ0-9]{24}"\}$', 'ana can report ben'
);
select is(pg_temp.metadata(), '{"existing": false}', 'which is a new report');
select results_eq(
  'select reporter_id, user_id, message_id, reason, note, shares_messages, resolution, purge_at from public.reports',
  $$
    values (
      tests.id_of('ana'), tests.id_of('ben'), null::bigint, 'spam', 'Too much', false, null::text, null::timestamptz
    )
  $$,
  'it has what she entered'
);
create temp table first as select * from public.reports;
select is(
  pg_temp.report('ana', '{"reason": "scam", "note": "Again"}'),
  jsonb_build_object('id', id, 'status', 'open', 'reason', 'spam', 'createdAt', private.iso(created_at)),
  'reporting him again returns the first report'
)
from first;
select is(pg_temp.metadata(), '{"existing": true}', 'and says so');
select results_eq('select * from public.reports', 'select * from first', 'and changes nothing');
select isnt((pg_temp.report('cat') ->> 'id')::bigint, id, 'a report by cat is another one') from first;
select isnt(
  (pg_temp.report('ana', pg_temp.message('ben', 'ana')) ->> 'id')::bigint, id, 'so is one about a message of ben'
)
from first;
select is(pg_temp.metadata(), '{"existing": false}', 'which is new');
select is(
  (pg_temp.report('ana', pg_temp.message('ben', 'ana')) ->> 'id')::bigint, max(id), 'and is returned in its turn'
)
from public.reports;
select is(
  (select user_id from public.reports order by id desc limit 1), tests.id_of('ben'), 'its subject is the sender'
);
insert into public.messages (conversation_id, user_id, content)
values (tests.conversation_of('ana'), tests.id_of('ben'), 'Another');
select isnt(
  (pg_temp.report('ana', jsonb_build_object('message_id', (select max(id) from public.messages))) ->> 'id')::bigint,
  (select max(id) from public.reports), 'another message is another subject'
);

select public.resolve_report(first.id, 'dismiss', 'Nothing') from first;
select isnt((pg_temp.report('ana') ->> 'id')::bigint, id, 'after it was resolved ana can report ben anew') from first;
select is(pg_temp.metadata(), '{"existing": false}', 'as a new report');
select throws_ok(
  format(
    'insert into public.reports (reporter_id, user_id, reason) values (%s, %s, %L)', tests.id_of('ana'),
    tests.id_of('ben'), 'spam'
  ),
  '23505', null, 'no two open reports about one person, whoever writes'
);
select throws_ok(
  'insert into public.reports (reporter_id, user_id, message_id, reason) '
    'select reporter_id, user_id, message_id, reason from public.reports where message_id is not null limit 1',
  '23505', null, 'nor about one message'
);

-- Who and what can be reported.
select throws_ok(
  format('select pg_temp.report(%L, %L)', person, fields), code, message, format('%s cannot report %s', person, what)
)
from (
  values
    ('ben', 'himself', '{}', 'PT400', 'user_id: you cannot report yourself'),
    ('ben', 'his own message', pg_temp.message('ben', 'ana'), 'PT400', 'message_id: you cannot report yourself'),
    ('ana', 'an unknown user', '{"user_id": 99999999}', 'PT404', 'User not found'),
    (
      'ana', 'a deactivated user', jsonb_build_object('user_id', tests.id_of('dora')), 'PT404', 'User not found'
    ),
    ('ana', 'an unknown message', '{"message_id": 99999999}', 'PT404', 'Message not found'),
    ('ana', 'a message of others', pg_temp.message('ben', 'cat'), 'PT404', 'Message not found'),
    ('mallory', 'a message of others', pg_temp.message('ben', 'ana'), 'PT404', 'Message not found'),
    ('mallory', 'without a known reason', '{"reason": "dislike"}', '23514', null),
    ('mallory', 'with a longer note', jsonb_build_object('note', repeat('x', 2001)), '23514', null)
) as cases (person, what, fields, code, message);
select tests.become_owner();
select is(count(*), 0::bigint, 'none of these left a report')
from public.reports
where reporter_id in (tests.id_of('ben'), tests.id_of('mallory'));
select lives_ok(
  format('select pg_temp.report(%L, %L)', 'mallory', jsonb_build_object('note', repeat('😀', 2000))),
  'a stranger can report ben, with a note of 2,000 characters'
);

-- Blocks, deactivation and erasure of the reported make no difference.
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ben'), tests.id_of('cat'));
select public.resolve_report(id, 'dismiss', 'Nothing') from public.reports where reporter_id = tests.id_of('cat');
select lives_ok($$ select pg_temp.report('cat') $$, 'cat can report ben, who has blocked her');
select lives_ok($$ select pg_temp.report('cat', pg_temp.message('ben', 'cat')) $$, 'and his message');

-- Blocking as well.
select is_empty(
  $$ select from private.blocks where blocker_id = tests.id_of('mallory') $$, 'reporting alone blocks nobody'
);
select pg_temp.report('mallory', '{"block": true}');
select isnt_empty(
  $$ select from private.blocks where (blocker_id, blocked_id) = (tests.id_of('mallory'), tests.id_of('ben')) $$,
  'reporting with block blocks as well, also if there is a report already'
);
select lives_ok($$ select pg_temp.report('mallory', '{"block": true}') $$, 'and also if there is a block already');
with crowd as (
  insert into public.users (name, email) select 'crowd', '' from generate_series(1, 1000) returning id
)
insert into private.blocks (blocker_id, blocked_id) select tests.id_of('ana'), id from crowd;
select throws_ok(
  format(
    $$ select pg_temp.report('ana', '{"block": true, "user_id": %s}') $$, tests.id_of('cat')
  ),
  'PT400', 'block: you cannot block more than 1,000 people', 'a block that is refused refuses the report'
);
select tests.become_owner();
select is_empty(
  $$ select from public.reports where (reporter_id, user_id) = (tests.id_of('ana'), tests.id_of('cat')) $$,
  'and leaves none'
);

-- With a key.
create temp table keyed as
select body ->> 'id' as id, body, tests.id_of('cat') as subject
from pg_temp.report(
  'mallory',
  jsonb_build_object('user_id', tests.id_of('cat'), 'client_id', '6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c001')
) as body;
create function pg_temp.repeat(fields jsonb default '{}', person text default 'mallory')
returns jsonb
language sql
as $$
  select pg_temp.report(
    person,
    jsonb_build_object('user_id', subject, 'client_id', '6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c001') || fields
  )
  from keyed
$$;
select is(pg_temp.repeat(), body, 'a repeat with the key returns the first answer') from keyed;
select is(pg_temp.metadata(), '{"existing": false, "replayed": true}', 'as it was, and says that it is a repeat');
select is(pg_temp.repeat('{"note": null}'), body, 'null is the same as nothing') from keyed;
select throws_ok(
  format('select pg_temp.repeat(%L)', fields), 'PT422', 'This idempotency key was used for another report',
  format('the key cannot be used for %s', fields)
)
from (
  values ('{"reason": "scam"}'), ('{"note": "More"}'), ('{"block": true}'), ('{"share_messages": true}'),
    ('{"user_id": 1}')
) as others (fields);
select tests.become_owner();
select isnt(pg_temp.repeat(person => 'ana') ->> 'id', id, 'somebody else can use the same key') from keyed;
select is(pg_temp.metadata(), '{"existing": false}', 'for a report of their own');
select public.resolve_report(id::bigint, 'warn', 'Enough') from keyed;
select is(pg_temp.repeat(), body, 'the first answer stays, also when the report is resolved') from keyed;
select is(
  pg_temp.report('mallory', '{"client_id": "6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c002"}') ->> 'id',
  (select id::text from public.reports where reporter_id = tests.id_of('mallory') order by id limit 1),
  'a key may find an open report'
);
select public.resolve_report(id, 'warn', 'Enough')
from public.reports
where (reporter_id, user_id) = (tests.id_of('mallory'), tests.id_of('ben'));
select pg_temp.report('mallory', '{"client_id": "6f1f0de6-3c1b-4c1e-9d4c-0a40b8a4c002"}');
select is(pg_temp.metadata(), '{"existing": true, "replayed": true}', 'and its repeat makes no new one afterwards');
select is_empty(
  $$ select from public.reports where reporter_id = tests.id_of('mallory') and resolved_at is null $$,
  'so none is open'
);
select throws_ok(
  $$ insert into public.reports (reporter_id, user_id, reason) values (1, 1, 'spam') $$, '23514', null,
  'nobody reports themselves, whoever writes'
);
