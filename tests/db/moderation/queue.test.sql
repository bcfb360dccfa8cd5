-- The queue: open reports, oldest first, with what is known about the person.
select plan(11);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'dan']) as name;
insert into public.reports (reporter_id, user_id, message_id, reason, note, shares_messages, resolution, resolved_at)
select
  tests.id_of(reporter), tests.id_of(person), message_id, reason, note, shares, resolution,
  case when resolution is not null then now() end
from (
  values
    (1, 'ana', 'ben', null, 'spam', 'First', false, 'dismiss'),
    (2, 'cat', 'ben', null, 'scam', null, false, 'warn'),
    (3, 'dan', 'ben', null, 'scam', 'Still open', false, null),
    (4, 'ana', 'cat', null, 'other', null, false, null),
    (5, 'dan', 'ben', 7, 'danger', 'A message', true, null),
    (6, 'ana', 'ben', null, 'spam', 'Later', false, 'hide')
) as reports (place, reporter, person, message_id, reason, note, shares, resolution)
order by place;

select results_eq(
  $$
    select person, reporter, reason, note, message_id, shares_messages, earlier_reports, earlier_dismissed,
      earlier_upheld
    from public.moderation_queue
  $$,
  $$
    values
      ('ben', 'dan', 'scam', 'Still open', null::bigint, false, 2::bigint, 1::bigint, 1::bigint),
      ('cat', 'ana', 'other', null, null, false, 0, 0, 0),
      ('ben', 'dan', 'danger', 'A message', 7, true, 3, 1, 1)
  $$,
  'the open reports, oldest first, with the counts of earlier ones'
);
select results_eq(
  'select person_id, reporter_id, is_active, is_hidden from public.moderation_queue limit 1',
  $$ select tests.id_of('ben'), tests.id_of('dan'), true, false $$, 'and who it is about'
);
select public.resolve_report((select min(report) from public.moderation_queue), 'hide', 'Spam');
select is(
  array(select person || ' ' || is_hidden || ' ' || earlier_upheld from public.moderation_queue),
  array['cat false 0', 'ben true 2'], 'a resolved one leaves, and counts for the next one'
);
select public.resolve_report((select max(report) from public.moderation_queue), 'suspend', 'Danger');
select is(array(select person from public.moderation_queue), array['cat'], 'until none about ben is left');
update public.users set is_active = false where id = tests.id_of('cat');
select is((select is_active from public.moderation_queue), false, 'it shows who is deactivated');

select tests.become_role('service_role');
select is((select count(*) from public.moderation_queue), 1::bigint, 'the secret key reads it');
select throws_ok($$ update public.moderation_queue set note = '' $$, null, null, 'and cannot write it');
select tests.become('ana');
select throws_ok('select from public.moderation_queue', '42501', null, 'ana, who has reported, cannot read it');
select tests.become(null);
select throws_ok('select from public.moderation_queue', '42501', null, 'nor can anybody without a token');

-- Several at once, as an admin writes it in the SQL editor.
select tests.become_owner();
insert into public.reports (reporter_id, user_id, message_id, reason)
select tests.id_of('ana'), tests.id_of('dan'), n, 'spam' from generate_series(1, 5) as n;
select is(
  count(*), 6::bigint, 'all open reports can be resolved in one statement'
)
from public.moderation_queue
cross join lateral public.resolve_report(report, 'dismiss', 'All of them')
where resolved_at is not null;
select is_empty('select from public.moderation_queue', 'then the queue is empty');
