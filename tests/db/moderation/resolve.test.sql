-- Resolving: what each decision does, once, and that it is logged.
select plan(61);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
update public.profiles set is_searchable = true;
create function pg_temp.report(whom text, reporter text default 'ana')
returns bigint
language sql
as $$
  insert into public.reports (reporter_id, user_id, reason)
  values (tests.id_of(reporter), tests.id_of(whom), 'spam')
  returning id
$$;
-- Active and searchable, in the profile and in the search.
create function pg_temp.state_of(person text)
returns text
language sql
as $$
  select concat_ws(
    ', ', case when is_active then 'active' end, case when is_searchable then 'searchable' end,
    case when exists (select from private.search_entries where user_id = users.id) then 'found' end,
    case when exists (select from public.hidden_profiles where user_id = users.id) then 'hidden' end
  )
  from public.users
  join public.profiles on profiles.user_id = users.id
  where users.id = tests.id_of(person)
$$;

-- Each action.
create temp table outcomes as
select action, state, tests.make_person(action) as id
from (
  values
    ('dismiss', 'active, searchable, found'), ('warn', 'active, searchable, found'), ('hide', 'active, hidden'),
    ('suspend', 'searchable')
) as expected (action, state);
update public.profiles set is_searchable = true where user_id in (select id from outcomes);
create temp table resolved as
select action, state, reports.id, reported, resolved.resolution, resolved.resolved_at, resolved.note as report_note
from (select *, pg_temp.report(action) as reported from outcomes offset 0) as reports
cross join lateral public.resolve_report(reported, action, 'Because of ' || action) as resolved;
select is(pg_temp.state_of(action), state, action || ' leaves the person ' || state) from resolved;
select is(resolution, action, action || ' is the resolution of the report') from resolved;
select cmp_ok(resolved_at, '>', now() - interval '1 minute', action || ' has a time') from resolved;
select is(report_note, null, action || ' leaves the note of the reporter') from resolved;
select is(
  (
    select array_agg(row_to_json(entries)::jsonb - 'id' - 'created_at')
    from public.moderation_log as entries
    where user_id = resolved.id
  ),
  array[jsonb_build_object(
    'action', action, 'report_id', reported, 'user_id', id, 'by_whom', session_user, 'note', 'Because of ' || action
  )],
  action || ' is logged with who, whom and why'
)
from resolved;
select is(pg_temp.state_of('ben'), 'active, searchable, found', 'somebody else is as before');

-- Once.
select throws_ok(
  format('select public.resolve_report(%s, %L, %L)', reported, again.action, 'Again'), 'PT409',
  format('This report was resolved before: %s, at %s', resolved.action, private.iso(resolved_at)),
  format('%s after %s is an error', again.action, resolved.action)
)
from resolved
cross join (values ('dismiss'), ('suspend')) as again (action);
select is(count(*), 4::bigint, 'which is not logged') from public.moderation_log;
select is(pg_temp.state_of('dismiss'), 'active, searchable, found', 'and does nothing');

-- Wrong calls.
create temp table open as select pg_temp.report('ben') as id;
select throws_ok(
  format('select public.resolve_report(%L, %L, %L)', report, action, note), code, message,
  format('%s cannot be resolved as %s, with a note of %s characters', report, action, char_length(note))
)
from (
  values
    (0, 'dismiss', 'Unknown', 'PT404', 'Report not found'),
    (null, 'dismiss', 'Unknown', 'PT404', 'Report not found'),
    ((select id from open), 'ban', 'Why', 'PT400', 'action: must be dismiss, warn, hide or suspend'),
    ((select id from open), null, 'Why', 'PT400', 'action: must be dismiss, warn, hide or suspend'),
    ((select id from open), 'Hide', 'Why', 'PT400', 'action: must be dismiss, warn, hide or suspend'),
    ((select id from open), 'suspend', null, 'PT400', 'note: say why, in 1 to 2,000 characters'),
    ((select id from open), 'suspend', '', 'PT400', 'note: say why, in 1 to 2,000 characters'),
    ((select id from open), 'suspend', E' \n\t', 'PT400', 'note: say why, in 1 to 2,000 characters'),
    ((select id from open), 'suspend', repeat('x', 2001), 'PT400', 'note: say why, in 1 to 2,000 characters')
) as calls (report, action, note, code, message);
select is(pg_temp.state_of('ben'), 'active, searchable, found', 'then nothing happens to the person');
select isnt_empty(
  'select from public.moderation_queue where report = (select id from open)', 'and the report stays open'
);
select lives_ok(
  format('select public.resolve_report(%s, %L, %L)', id, 'warn', repeat('😀', 1999) || U&'\202E'),
  'a reason may have 2,000 characters of any kind'
)
from open;

-- Hidden twice, and suspended as well.
select lives_ok(
  format('select public.resolve_report(%s, %L, %L)', pg_temp.report('hide'), action, 'More'),
  format('somebody who is hidden can get %s too', action)
)
from (values ('hide'), ('suspend'), ('warn')) as more (action);
select is(pg_temp.state_of('hide'), 'hidden', 'and is then both');

-- Lifting.
select throws_ok(
  format('select public.lift_restriction(%L, %L, %L)', person, restriction, note), code, message,
  format('%s of %s cannot be lifted (%s)', restriction, person, message)
)
from (
  values
    (0, 'hide', 'Why', 'PT404', 'User not found'),
    (null, 'hide', 'Why', 'PT404', 'User not found'),
    (tests.id_of('hide'), 'warn', 'Why', 'PT400', 'restriction: must be hide or suspend'),
    (tests.id_of('hide'), null, 'Why', 'PT400', 'restriction: must be hide or suspend'),
    (tests.id_of('hide'), 'hide', null, 'PT400', 'note: say why, in 1 to 2,000 characters'),
    (tests.id_of('cat'), 'hide', 'Why', 'PT409', 'This profile is not hidden'),
    (tests.id_of('cat'), 'suspend', 'Why', 'PT409', 'This account is not suspended')
) as calls (person, restriction, note, code, message);
select is(public.lift_restriction(tests.id_of('hide'), 'hide', 'A mistake'), 'lifted', 'hiding can be lifted');
select is(pg_temp.state_of('hide'), '', 'which ends neither the suspension nor makes the profile searchable');
select is(public.lift_restriction(tests.id_of('hide'), 'suspend', 'As well'), 'lifted', 'so can a suspension');
select is(pg_temp.state_of('hide'), 'active', 'then the account is active');
select results_eq(
  $$ select action, note from public.moderation_log where user_id = tests.id_of('hide') order by id desc limit 2 $$,
  $$ values ('lift suspend', 'As well'), ('lift hide', 'A mistake') $$, 'both are logged'
);

-- Erased people.
create temp table erased as select tests.id_of('cat') as id, pg_temp.report('cat') as report;
select private.erase_person(id) from erased;
select lives_ok(
  format('select public.resolve_report(%s, %L, %L)', report, 'hide', 'Gone'),
  'a report about an erased user is resolved'
)
from erased;
select throws_ok(
  format('select public.lift_restriction(%s, %L, %L)', id, 'suspend', 'Back'), 'PT409', 'This account is not suspended',
  'and nobody brings them back'
)
from erased;
