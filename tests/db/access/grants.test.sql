-- Every grant on our objects. A new grant must be added here, or the test fails.
select plan(9);

select is(
  array(
    select format('%s: %s %s', role, string_agg(privilege, ', ' order by privilege), name) collate "C"
    from tests.relations, tests.granted(relacl, relowner)
    where relkind <> 'S' and role <> 'service_role'
    group by role, name
    order by 1
  ),
  array[
    'anon: select public.interests',
    'authenticated: select public.conversations',
    'authenticated: select public.interests',
    'authenticated: select public.messages',
    'authenticated: select public.profile_interests',
    'authenticated: select public.profiles',
    'authenticated: select public.reservation_history',
    'authenticated: select public.reservations',
    'authenticated: select public.users'
  ],
  'these are the grants on tables'
);
select is(
  array(
    select format('%s: %s %s (%s)', role, privilege, name, string_agg(attname, ', ' order by attnum)) collate "C"
    from tests.relations
    join pg_attribute on attrelid = relations.oid
    cross join tests.granted(attacl, relowner)
    group by role, privilege, name
    order by 1
  ),
  '{}',
  'there are no grants on columns'
);
select is(
  array(
    select format('%s: %s', name, string_agg(privilege, ', ' order by privilege)) collate "C"
    from tests.relations, tests.granted(relacl, relowner)
    where relkind <> 'S' and role = 'service_role'
    group by name
    order by 1
  ),
  array(
    select
      format(
        '%s: %s', name,
        case
          when relname in ('reservation_history', 'moderation_log', 'moderation_queue', 'reports')
            then 'select'
          else 'delete, insert, maintain, references, select, trigger, truncate, update'
        end
      ) collate "C"
    from tests.relations
    where relkind <> 'S' and relnamespace = 'public'::regnamespace
    order by 1
  ),
  'the secret key has all privileges on the tables that the Data API exposes, select alone on those that only '
    || 'functions write, and none on others'
);
select is(
  array(
    select format('%s: %s %s', role, string_agg(privilege, ', ' order by privilege), name) collate "C"
    from tests.relations, tests.granted(relacl, relowner)
    where relkind = 'S'
    group by role, name
    order by 1
  ),
  array(
    select format('service_role: select, update, usage %s', name) collate "C"
    from tests.relations
    where relkind = 'S'
      and relnamespace = 'public'::regnamespace
      and relname not in ('moderation_log_id_seq', 'reports_id_seq', 'reservation_history_id_seq')
    order by 1
  ),
  'the secret key can use the sequences of those tables, and no other role can use any'
);
select is(
  array(
    select format('%s: %s', role, string_agg(proname, ', ' order by proname)) collate "C"
    from pg_proc
    cross join tests.granted(coalesce(proacl, acldefault('f', proowner)), proowner)
    where pronamespace in ('public'::regnamespace, 'private'::regnamespace)
      and not exists (
        select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
      )
    group by role
    order by 1
  ),
  array[
    'anon: find_me, iso, my_id, set_response_metadata',
    'authenticated: can_read_attachment, can_remove_attachment, can_upload_attachment, find_me, interests_of, '
      || 'is_upload, iso, my_conversations, my_id, my_writable_conversations, set_response_metadata, '
      || 'typing_conversation_id',
    'edge_functions: account_status, act_as, adopt_model, adopt_outbox_settings, begin_sign_up, calibrate_model, '
      || 'check_sign_up, claim_embeddings, claim_mail, claim_pushes, claim_webhooks, consume_rate_limit, '
      || 'describe_search, describe_service, due_channels, fail_embeddings, find_me, finish_outbox, '
      || 'plan_notifications, save_embeddings',
    'service_role: describe_queues, describe_schedule, erase_person, find_people, is_attachment, is_line, '
      || 'is_own_photo, is_web_address, lift_restriction, read_evidence, resolve_report, restrict_person'
  ],
  'these are the grants on functions outside schema api'
);
select is(
  array(
    select proname::text
    from pg_proc
    left join lateral tests.granted(coalesce(proacl, acldefault('f', proowner)), proowner) on true
    where pronamespace = 'api'::regnamespace
    group by pg_proc.oid
    having array_agg(role) <> array['edge_functions']
  ),
  '{}',
  'the Edge Functions can call every API function, and nobody else can call any'
);
select is(
  array(
    select format('%s: %s %s', role, privilege, nspname) collate "C"
    from pg_namespace, tests.granted(nspacl, nspowner)
    where nspname in ('private', 'api') or nspname in ('public', 'extensions') and privilege <> 'usage'
    order by 1
  ),
  array[
    'anon: usage private', 'authenticated: usage private', 'edge_functions: usage api', 'edge_functions: usage private'
  ],
  'these are the grants on schemas'
);
select is(
  array(
    select format('%s: %s %s', role, privilege, defaclobjtype)
    from pg_default_acl, tests.granted(defaclacl, defaclrole)
    where role <> 'service_role'
      and defaclrole = (select nspowner from pg_namespace where nspname = 'api')
      and defaclnamespace in (0, 'public'::regnamespace, 'private'::regnamespace, 'api'::regnamespace)
  ),
  '{}',
  'default privileges grant new objects only to the secret key'
);
select is(
  array(
    select (
      rolname::text || case
        when rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolinherit
          or rolcanlogin <> (rolname = 'edge_functions')
          then ' with other attributes'
        when rolbypassrls then ' bypassing row level security'
        else ''
      end
      || coalesce(' as ' || (
        select string_agg(distinct roleid::regrole::text, ', ') from pg_auth_members where member = pg_roles.oid
      ), '')
    ) collate "C"
    from pg_roles
    where rolname in ('anon', 'authenticated', 'service_role', 'edge_functions')
    order by 1
  ),
  array['anon', 'authenticated', 'edge_functions as anon, authenticated', 'service_role bypassing row level security'],
  'edge_functions can become anon and authenticated, service_role bypasses row level security, and that is all'
);
