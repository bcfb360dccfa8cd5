-- Every grant on our objects. A new grant must be added here, or the test fails.
-- Compared as arrays and not by set_eq, and without a view of its own: temporary tables and views took most of the time
-- for the mutants (../mutants.ts).
select plan(8);

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
    'authenticated: delete, select public.profile_interests',
    'authenticated: select public.conversations',
    'authenticated: select public.interests',
    'authenticated: select public.messages',
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
  array[
    'authenticated: insert public.profile_interests (profile_id, interest_id)',
    'authenticated: update public.profiles '
      || '(first_name, last_name, age, biography, country, city, image_url, is_searchable)',
    'authenticated: update public.users (name, bio, location)'
  ],
  'these are the grants on columns'
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
        case name
          when 'public.reservation_history' then 'select'
          when 'public.hidden_profiles' then 'select'
          when 'public.moderation_log' then 'select'
          when 'public.moderation_queue' then 'select'
          when 'public.reports' then 'select'
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
      and name not in (
        'public.moderation_log_id_seq', 'public.reports_id_seq', 'public.reservation_history_id_seq'
      )
    order by 1
  ),
  'the secret key can use the sequences of those tables, and no other role can use any'
);
select is(
  array(
    select format('%s: %s', role, proname) collate "C"
    from pg_proc
    cross join tests.granted(coalesce(proacl, acldefault('f', proowner)), proowner)
    where pronamespace in ('public'::regnamespace, 'private'::regnamespace)
      and not exists (
        select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
      )
    order by 1
  ),
  array[
    'anon: check_interests',
    'anon: find_me',
    'anon: iso',
    'anon: my_id',
    'anon: parse_ids',
    'anon: set_response_metadata',
    'authenticated: attachment_folders',
    'authenticated: can_upload_attachment',
    'authenticated: check_interests',
    'authenticated: find_me',
    'authenticated: history_of',
    'authenticated: interests_of',
    'authenticated: is_line',
    'authenticated: is_own_photo',
    'authenticated: is_upload',
    'authenticated: is_web_address',
    'authenticated: iso',
    'authenticated: me_with_profile',
    'authenticated: messages_after',
    'authenticated: my_blocks',
    'authenticated: my_conversations',
    'authenticated: my_devices',
    'authenticated: my_id',
    'authenticated: my_inbox',
    'authenticated: my_notification_settings',
    'authenticated: my_profile_id',
    'authenticated: my_reports_after',
    'authenticated: my_state',
    'authenticated: my_states',
    'authenticated: my_unread',
    'authenticated: my_writable_conversations',
    'authenticated: parse_ids',
    'authenticated: participants_of',
    'authenticated: present',
    'authenticated: replace_interests',
    'authenticated: require_participant',
    'authenticated: reservations_of',
    'authenticated: reservations_with_history',
    'authenticated: scope_to_conversation',
    'authenticated: set_response_metadata',
    'authenticated: settled',
    'authenticated: status_at',
    'authenticated: to_message_view',
    'authenticated: to_reservation_view',
    'authenticated: typing_conversation_id',
    'edge_functions: account_status',
    'edge_functions: act_as',
    'edge_functions: adopt_model',
    'edge_functions: adopt_outbox_settings',
    'edge_functions: begin_sign_up',
    'edge_functions: check_sign_up',
    'edge_functions: claim_embeddings',
    'edge_functions: claim_mail',
    'edge_functions: claim_pushes',
    'edge_functions: claim_webhooks',
    'edge_functions: consume_rate_limit',
    'edge_functions: consume_write_limit',
    'edge_functions: count_due',
    'edge_functions: count_pending_embeddings',
    'edge_functions: describe_outbox',
    'edge_functions: describe_search',
    'edge_functions: drain_lexicon_queue',
    'edge_functions: fail_embeddings',
    'edge_functions: find_me',
    'edge_functions: finish_outbox',
    'edge_functions: is_within_write_limit',
    'edge_functions: list_migrations',
    'edge_functions: plan_notifications',
    'edge_functions: report_search',
    'edge_functions: save_embeddings',
    'service_role: describe_queues',
    'service_role: describe_schedule',
    'service_role: erase_person',
    'service_role: find_people',
    'service_role: is_attachment',
    'service_role: is_line',
    'service_role: is_own_photo',
    'service_role: is_web_address',
    'service_role: lift_restriction',
    'service_role: read_evidence',
    'service_role: resolve_report',
    'service_role: restrict_person'
  ],
  'these are the grants on functions outside schema api'
);
select is(
  array(
    select format('%s: %s %s', role, privilege, nspname) collate "C"
    from pg_namespace, tests.granted(nspacl, nspowner)
    where nspname in ('private', 'api') or nspname = 'public' and privilege <> 'usage'
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
