-- A report that somebody changes in the table itself, as its owner can in the SQL editor, has an entry in the log.
select plan(12);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
insert into public.reports (reporter_id, user_id, message_id, reason, note)
select tests.id_of('ana'), tests.id_of('ben'), n, 'spam', 'From Ana' from generate_series(1, 5) as n;
create temp table numbered as
select id, row_number() over (order by id) as place from public.reports where user_id = tests.id_of('ben');
create function pg_temp.entries()
returns text[]
language sql
as $$
  select coalesce(
    array_agg(
      regexp_replace(action || coalesce(': ' || note, ''), 'Report [0-9]+', 'Report')
      || case when report_id is null then '' else ' #' || (select place from numbered where id = report_id) end
      order by id
    ),
    '{}'
  )
  from public.moderation_log
$$;

select public.resolve_report(id, 'warn', 'Once') from numbered where place = 1;
select is(pg_temp.entries(), array['warn: Once #1'], 'resolving has one entry, not two');
update public.reports set resolution = 'dismiss' where id = (select id from numbered where place = 1);
select is(
  (pg_temp.entries())[2],
  'edit report: Report was changed without resolve_report: resolution from "warn" to "dismiss" #1',
  'changing the outcome later, in the same transaction, has an entry of its own'
);
update public.reports
set resolution = 'hide', resolved_at = '2026-01-02'
where id = (select id from numbered where place = 2);
select matches(
  (pg_temp.entries())[3], 'resolution from null to "hide", resolved_at from null to "2026-01-02[^"]*" #2$',
  'so has resolving by hand'
);
update public.reports set note = 'Of an admin' where id = (select id from numbered where place = 3);
select is(
  (pg_temp.entries())[4], 'edit report: Report was changed without resolve_report: note #3',
  'a changed note is named and not kept'
);
update public.reports
set user_id = reporter_id, reporter_id = user_id
where id = (select id from numbered where place = 4);
select matches((pg_temp.entries())[5], 'reporter_id from .*, user_id from .* #4$', 'so are the people');
select is(
  (select user_id from public.moderation_log order by id desc limit 1), tests.id_of('ben'),
  'the entry is about the person who was reported'
);
delete from public.reports where id = (select id from numbered where place = 5);
select is((pg_temp.entries())[6], 'edit report: Report was deleted', 'and a deletion');
select throws_ok(
  format('delete from public.reports where id = %s', (select id from numbered where place = 2)), '23503', null,
  'which is not possible once the log refers to the report'
);
select is(cardinality(pg_temp.entries()), 6, 'what was refused has no entry');

-- What is not an edit.
update public.reports set shares_messages = true, purge_at = private.present() where user_id = tests.id_of('ben');
select is(private.purge_evidence(), 3, 'notes are purged');
select is(cardinality(pg_temp.entries()), 6, 'a later consent, and what the schedule deletes, is not logged');
update public.reports set note = null where id = (select id from numbered where place = 4);
select is(
  (pg_temp.entries())[7], 'edit report: Report was changed without resolve_report: note #4',
  'deleting a note by hand is'
);
