-- What each caller can do with the rows of each table. 'rows': the statement reaches them, 'none': it runs and reaches
-- none, 'denied': the privilege is missing. The callers:
--   anonymous        has no token
--   ana              owns the rows and is the voyager of the conversation
--   ben              is ana's partner, the local
--   mallory          has nothing to do with the rows
--   dora             owns the rows and is deactivated
--   gus              is carla's partner; his account is erased, and he still has a token
--   edge_functions   the role of the Edge Functions before it becomes a caller
--   service_role     the secret key
select plan(867);
select tests.make_person(name) from unnest(array['ana', 'ben', 'carla', 'dora', 'gus', 'mallory']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('dora', 'ben');
select tests.make_history('carla', 'gus');
update public.users set is_active = false where id = tests.id_of('dora');
create temp table erased as select tests.claims_of('gus') as claims;
delete from auth.users where email = 'gus@tests.example';

create function pg_temp.attempt_as(caller text, privilege text, on_table text)
returns text
language plpgsql
as $$
declare
  whose constant text := case caller when 'dora' then 'dora' when 'gus' then 'carla' else 'ana' end;
  result text;
begin
  if caller in ('edge_functions', 'service_role') then
    perform tests.become_role(caller);
  elsif caller = 'gus' then
    -- tests.become finds no claims of an erased account.
    perform
      set_config('request.jwt.claims', claims::text, true),
      set_config('request.jwt.claim.sub', claims ->> 'sub', true)
    from erased;
    perform set_config('role', 'authenticated', true);
  else
    perform tests.become(nullif(caller, 'anonymous'));
  end if;
  result := tests.attempt(privilege => privilege, on_table => on_table, whose => whose);
  perform tests.become_owner();
  return result;
end
$$;

create temp table matrix as
select caller, name, may_select, may_insert, may_update, may_delete
from (
  values
    -- callers                    table                       select    insert    update    delete
    ('anonymous, edge_functions', 'public.users',             'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.profiles',          'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.profile_interests', 'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.conversations',     'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.messages',          'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.reservations',      'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.reservation_history', 'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.reports',           'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.moderation_log',    'denied', 'denied', 'denied', 'denied'),
    ('anonymous, edge_functions', 'public.hidden_profiles',   'denied', 'denied', 'denied', 'denied'),
    ('anonymous',                 'public.interests',         'rows',   'denied', 'denied', 'denied'),
    ('edge_functions',            'public.interests',         'denied', 'denied', 'denied', 'denied'),
    ('ana',                       'public.users',             'rows',   'denied', 'rows',   'denied'),
    ('ana',                       'public.profiles',          'rows',   'denied', 'rows',   'denied'),
    ('ana',                       'public.interests',         'rows',   'denied', 'denied', 'denied'),
    ('ana',                       'public.profile_interests', 'rows',   'rows',   'denied', 'rows'  ),
    ('ana',                       'public.conversations',     'rows',   'denied', 'denied', 'denied'),
    ('ana',                       'public.messages',          'rows',   'denied', 'denied', 'denied'),
    ('ana',                       'public.reservations',      'rows',   'denied', 'denied', 'denied'),
    ('ana',                       'public.reservation_history', 'rows',   'denied', 'denied', 'denied'),
    ('ben',                       'public.users',             'none',   'denied', 'none',   'denied'),
    ('ben',                       'public.profiles',          'none',   'denied', 'none',   'denied'),
    ('ben',                       'public.interests',         'rows',   'denied', 'denied', 'denied'),
    ('ben',                       'public.profile_interests', 'none',   'denied', 'denied', 'none'  ),
    ('ben',                       'public.conversations',     'rows',   'denied', 'denied', 'denied'),
    ('ben',                       'public.messages',          'rows',   'denied', 'denied', 'denied'),
    ('ben',                       'public.reservations',      'rows',   'denied', 'denied', 'denied'),
    ('ben',                       'public.reservation_history', 'rows',   'denied', 'denied', 'denied'),
    ('mallory, dora, gus',        'public.users',             'none',   'denied', 'none',   'denied'),
    ('mallory, dora, gus',        'public.profiles',          'none',   'denied', 'none',   'denied'),
    ('mallory, dora, gus',        'public.interests',         'rows',   'denied', 'denied', 'denied'),
    ('mallory, dora, gus',        'public.profile_interests', 'none',   'denied', 'denied', 'none'  ),
    ('mallory, dora, gus',        'public.conversations',     'none',   'denied', 'denied', 'denied'),
    ('mallory, dora, gus',        'public.messages',          'none',   'denied', 'denied', 'denied'),
    ('mallory, dora, gus',        'public.reservations',      'none',   'denied', 'denied', 'denied'),
    ('mallory, dora, gus',        'public.reservation_history', 'none',   'denied', 'denied', 'denied'),
    -- Not even the reporter reads their report here, and nobody learns that they were reported.
    ('ana, ben, mallory, dora, gus', 'public.reports',         'denied', 'denied', 'denied', 'denied'),
    ('ana, ben, mallory, dora, gus', 'public.moderation_log',  'denied', 'denied', 'denied', 'denied'),
    ('ana, ben, mallory, dora, gus', 'public.hidden_profiles', 'denied', 'denied', 'denied', 'denied'),
    ('service_role',              'public.users',             'rows',   'rows',   'rows',   null    ),
    ('service_role',              'public.profiles',          'rows',   'rows',   'rows',   'rows'  ),
    ('service_role',              'public.interests',         'rows',   'rows',   'rows',   'rows'  ),
    ('service_role',              'public.profile_interests', 'rows',   'rows',   'rows',   'rows'  ),
    ('service_role',              'public.conversations',     'rows',   'rows',   'rows',   'rows'  ),
    ('service_role',              'public.messages',          'rows',   'rows',   'rows',   'rows'  ),
    ('service_role',              'public.reservations',      'rows',   'rows',   'rows',   'rows'  ),
    ('service_role',              'public.reservation_history', 'rows', 'denied', 'denied', 'denied'),
    ('service_role',              'public.reports',           'rows',   'denied', 'denied', 'denied'),
    ('service_role',              'public.moderation_log',    'rows',   'denied', 'denied', 'denied'),
    ('service_role',              'public.hidden_profiles',   'rows',   'denied', 'denied', 'denied')
) as cells (callers, name, may_select, may_insert, may_update, may_delete)
cross join regexp_split_to_table(callers, ', ') as caller;
-- Nobody reaches the private tables.
insert into matrix
select distinct caller, private_tables.name, 'denied', 'denied', 'denied', 'denied'
from matrix
cross join unnest(array[
    'private.blocks', 'private.changes', 'private.conversation_activity', 'private.conversation_states',
    'private.devices',
    'private.idempotent_replies', 'private.notification_settings', 'private.outbox', 'private.outbox_settings',
    'private.rate_limit_salts', 'private.rate_limits', 'private.rate_settings', 'private.report_evidence',
    'private.sign_ups', 'private.silences', 'private.stored_replies'
]) as private_tables (name);

select is(
  pg_temp.attempt_as(caller => caller, privilege => privilege, on_table => name), expected,
  format('%s %s %s %s', caller, case expected when 'rows' then 'can' else 'cannot' end, privilege, name)
)
from matrix
cross join lateral (
  values ('select', may_select), ('insert', may_insert), ('update', may_update), ('delete', may_delete)
) as cell (privilege, expected)
where expected is not null
order by caller, name, privilege;

select is(
  pg_temp.attempt_as(caller => 'service_role', privilege => 'delete', on_table => 'public.users'),
  '23503 update or delete on table "users" violates foreign key constraint "conversations_voyager_id_fkey" '
    || 'on table "conversations"',
  'the secret key cannot delete a user who has a conversation, which is the partner''s too'
);
select tests.become_role('service_role');
select lives_ok(
  $$ delete from public.users where email = 'nobody@tests.example' $$,
  'the secret key can delete a user without conversations'
);

select tests.become_owner();
grant select on erased to edge_functions;
select tests.become_role('edge_functions');
select throws_ok(
  'select private.act_as(claims, true) from erased', 'PT401', 'This account no longer exists',
  'no protected route accepts the token of an erased account'
);
select is(
  (select case when private.act_as(claims, false) then current_user::text end from erased), 'anon',
  'where a token is optional, the token of an erased account makes its bearer anonymous'
);
