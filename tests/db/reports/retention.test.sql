-- Retention: evidence and notes end 180 days after one of the two is erased, and not before.
select plan(28);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'dan']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cat'), tests.id_of('dan'));
insert into public.messages (conversation_id, user_id, content)
select id, local_id, 'Words of ' || local_id from public.conversations;
create temp table people as
select name, tests.id_of(name) as id from unnest(array['ana', 'ben', 'cat', 'dan']) as name;

create function pg_temp.report(person text, whom text)
returns bigint
language plpgsql
as $$
declare
  answer jsonb := tests.ask(
    person,
    format(
      'report_person(%L)',
      jsonb_build_object('user_id', tests.id_of(whom), 'reason', 'scam', 'note', 'Note', 'share_messages', true)
    )
  );
begin
  perform tests.become_owner();
  return answer -> 'id';
end
$$;
-- What is left of the report about a person: the number of copies, and whether there is a note.
create function pg_temp.left_of(whom text)
returns text
language sql
as $$
  select format('%s %s', count(report_evidence), count(note))
  from public.reports
  left join private.report_evidence on report_id = reports.id
  where user_id = (select id from people where name = whom)
$$;
select pg_temp.report('ana', 'ben'), pg_temp.report('cat', 'dan');
select is(pg_temp.left_of('ben'), '1 1', 'a report has its evidence and its note');
select tests.pass_time('3650 days');
select is(private.purge_evidence(), 0, 'which have no end while both have an account');
select tests.pass_time('0');

select ok(private.erase_person((select id from people where name = 'ben')), 'the reported is erased');
select is(pg_temp.left_of('ben'), '1 1', 'evidence and note outlive the account');
select is(private.purge_evidence(), 0, 'and there is nothing to purge');
select tests.pass_time('179 days 23 hours');
select is(private.purge_evidence(), 0, 'nor for 180 days');
select is(pg_temp.left_of('ben'), '1 1', 'in which admins can read them');
select ok(private.erase_person((select id from people where name = 'ana')), 'the reporter is erased later');
select tests.pass_time('180 days 1 minute');
select is(private.purge_evidence(), 1, 'after 180 days they are purged, whenever the other one was erased');
select is(pg_temp.left_of('ben'), '0 0', 'so that neither is left');
select is(pg_temp.left_of('dan'), '1 1', 'those of others stay');
select is(private.purge_evidence(), 0, 'there is nothing more to do');
select results_eq(
  'select user_id, reporter_id, reason, shares_messages, purge_at from public.reports order by id limit 1',
  $$
    select ben.id, ana.id, 'scam', true, null::timestamptz
    from people as ben, people as ana
    where ben.name = 'ben' and ana.name = 'ana'
  $$,
  'that there was a report stays'
);
select is(
  (select report from public.moderation_queue order by 1 limit 1), (select min(id) from public.reports),
  'in the queue, too, until an admin resolves it'
);
select lives_ok(
  $$ select public.resolve_report((select min(id) from public.reports), 'suspend', 'Erased') $$, 'which is possible'
);
select is(
  (select count(*) from public.read_evidence((select min(id) from public.reports))), 0::bigint,
  'reading the evidence then returns nothing'
);

-- The erasing of the reporter counts as well.
select tests.pass_time('0');
select ok(private.erase_person((select id from people where name = 'cat')), 'another reporter is erased');
select is(pg_temp.left_of('dan'), '1 1', 'what she reported stays');
select is(
  (select reporter from public.moderation_queue), 'Deleted user', 'by a deleted user'
);
select tests.pass_time('180 days 1 minute');
select is(private.purge_evidence(), 1, 'for 180 days');
select is(pg_temp.left_of('dan'), '0 0', 'and then goes');

-- Messages of erased people can still be reported.
select tests.pass_time('0');
select tests.make_person('eva');
insert into public.conversations (voyager_id, local_id)
select tests.id_of('eva'), id from people where name = 'dan';
insert into public.messages (conversation_id, user_id, content)
select id, local_id, 'Last words' from public.conversations where voyager_id = tests.id_of('eva');
select private.erase_person((select id from people where name = 'dan'));
create temp table last_words as select id from public.messages where content = 'Last words';
select lives_ok(
  format(
    $$ select tests.ask('eva', 'report_person(''{"reason": "danger", "message_id": %s, "block": true}'')') $$, id
  ),
  'a message of an erased user can be reported'
)
from last_words;
select tests.become_owner();
select is_empty('select from private.blocks', 'there is nobody to block');
select is(
  (select extract(day from purge_at - created_at) from public.reports order by id desc limit 1), 180::numeric,
  'its evidence has an end from the beginning'
);
select tests.pass_time('180 days 1 minute');
select cmp_ok(private.purge_evidence(), '>=', 1, 'and is purged then');
select is_empty($$ select from private.report_evidence where content = 'Last words' $$, 'as any other');

-- What erasing takes at once.
select tests.pass_time('0');
select tests.make_person(name) from unnest(array['fay', 'gil']) as name;
select tests.make_history('fay', 'gil');
insert into public.hidden_profiles (user_id, report_id) values (tests.id_of('fay'), tests.report_of('fay'));
create temp table fay as select tests.id_of('fay') as id;
select private.erase_person(id) from fay;
select is_empty(
  $$
    select user_id from private.stored_replies where user_id in (select id from fay)
    union all
    select user_id from public.hidden_profiles where user_id in (select id from fay)
  $$,
  'erasing deletes stored answers, and that somebody was hidden'
);
select is(
  (select count(*) from public.moderation_log where report_id = (select max(id) from public.reports)), 1::bigint,
  'the log of the moderators stays'
);
