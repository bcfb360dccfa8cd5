-- The log: append-only for everybody, with who, when and why; and who can call the functions that write it.
select plan(75);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
insert into public.reports (reporter_id, user_id, reason) values (tests.id_of('ben'), tests.id_of('ana'), 'spam');
create temp table report as select max(id) as id from public.reports;
grant select on report to public;

-- Who can call.
create temp table calls as
select replace(call, '%report', report.id::text) as call
from report
cross join (
  values ('resolve_report(%report, ''dismiss'', ''Why'')'), ('read_evidence(%report)'),
    ('lift_restriction(1, ''hide'', ''Why'')'), ('restrict_person(1, ''suspend'', ''Why'')'),
    ('find_people(''ana'')'), ('erase_person(1, ''Why'')'), ('describe_queues()'), ('describe_schedule()')
) as texts (call);
create function pg_temp.call_as(who text, call text)
returns text
language plpgsql
as $$
begin
  if who in ('service_role', 'edge_functions') then
    perform tests.become_role(who);
  else
    perform tests.become(nullif(who, 'anonymous'));
  end if;
  execute 'select public.' || call;
  raise sqlstate 'TRIED';
exception
  when sqlstate 'TRIED' then
    return 'allowed';
  when insufficient_privilege then
    return 'denied';
  when sqlstate 'PT409' or sqlstate 'PT404' then
    return 'allowed';
end
$$;
select is(
  pg_temp.call_as(who, call), expected,
  format('%s %s call %s', who, case expected when 'allowed' then 'can' else 'cannot' end, call)
)
from (
  values ('anonymous', 'denied'), ('ana', 'denied'), ('ben', 'denied'), ('edge_functions', 'denied'),
    ('service_role', 'allowed')
) as callers (who, expected)
cross join calls;
select tests.become_owner();
update public.users set role = 'admin' where id = tests.id_of('ben');
select is(pg_temp.call_as('ben', call), 'denied', 'the role admin in a profile is not enough for ' || call) from calls;

-- Who it was.
select tests.become_owner();
select set_config('request.jwt.claims', '{"role": "service_role", "sub": "moderator-7"}', true);
select set_config('role', 'service_role', true);
select lives_ok(format('select public.read_evidence(%s)', id), 'the secret key reads evidence') from report;
select is(
  (select by_whom from public.moderation_log order by id desc limit 1), 'service_role moderator-7',
  'which is logged with the role and the subject of the token'
);
select tests.become_owner();
select is(private.current_admin(), session_user::text, 'without a token it is the role of the session');
select is(
  private.dashboard_user(statement), expected,
  format('the user of the dashboard is %s', coalesce(expected, 'unknown without comments at the end'))
)
from (
  values
    (
      E'select 1;\n\n-- source: dashboard\n-- user: 3028ccc4-beae-49b2-826c-315556178e49\n'
        || '-- date: 2026-05-27T19:16:29.995Z',
      '3028ccc4-beae-49b2-826c-315556178e49'
    ),
    (E'select 1 -- user: 3028ccc4-beae-49b2-826c-315556178e49\n-- date: 2026\n, 2', null),
    ('select 1', null)
) as statements (statement, expected);
select cmp_ok(
  (select created_at from public.moderation_log order by id desc limit 1), '>', now() - interval '1 minute', 'and when'
);
select is(
  (
    select array_agg(action || ' ' || (note is null) order by id)
    from public.moderation_log
    where report_id = (select id from report)
  ),
  array['read evidence true'], 'reading needs no reason of its own: it is for the report'
);

-- Append-only.
create temp table before as select * from public.moderation_log;
select throws_ok(
  statement, '42501', 'The moderation log is append-only', 'not even its owner can: ' || left(statement, 40)
)
from (
  values
    ('update public.moderation_log set note = ''Other'''),
    ('update public.moderation_log set created_at = now() where false or true'),
    ('delete from public.moderation_log'),
    ('truncate public.moderation_log'),
    ('delete from public.moderation_log where id = (select max(id) from public.moderation_log)')
) as statements (statement);
select throws_ok(
  format('insert into public.moderation_log (action, user_id, by_whom, note) values (%s)', entry), '23514', null,
  'an entry cannot be ' || entry
)
from (
  values ('''ban'', 1, ''x'', ''Why'''), ('''hide'', 1, ''x'', null'), ('''hide'', 1, ''x'', '' ''')
) as entries (entry);
select throws_ok(
  statement, '23503', null, 'what is in the log cannot be pulled from under it: ' || left(statement, 40)
)
from (
  values (format('delete from public.reports where id = %s', (select id from report)))
) as statements (statement);
select tests.become_role('service_role');
select throws_ok(
  statement, '42501', null, 'the secret key cannot: ' || left(statement, 50)
)
from (
  values
    ('update public.moderation_log set note = ''Other'''),
    ('delete from public.moderation_log'),
    ('truncate public.moderation_log'),
    ('insert into public.moderation_log (action, user_id, by_whom) values (''read evidence'', 1, ''x'')'),
    ('update public.reports set resolution = ''dismiss'', resolved_at = now()'),
    ('delete from public.reports'),
    ('insert into public.hidden_profiles (user_id, report_id) values (1, 1)'),
    ('delete from public.hidden_profiles'),
    ('select from private.report_evidence')
) as statements (statement);
select tests.become_owner();
select results_eq(
  'select * from public.moderation_log order by id', 'select * from before order by id', 'and nothing has changed'
);
