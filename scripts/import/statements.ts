import { type Kind, kinds, profileColumns } from './format.ts'

const listed = profileColumns.join(', ')
// Whom an admin has hidden meanwhile stays hidden, though no trigger runs.
const updated = profileColumns.map((name) => `excluded.${name}`).join(', ')
  .replace('excluded.is_searchable', '$& and not known.is_hidden')
/** The Auth account of an imported user, by the user's id: a second run finds it again. */
const authIdOf = `md5('imported user ' || id)::uuid`

/** What the statements below call to refuse a row that no constraint of the tables does. */
export const preparations = [
  // Nobody is told.
  'set local session_replication_role = replica',
  // Gathering an inbox or the words of all profiles takes longer than a request may.
  'set local statement_timeout = 0',
  `create or replace function pg_temp.expect(is_so boolean, reason text)
  returns boolean
  language plpgsql
  as $$
  begin
    if is_so then return true; end if;
    raise check_violation using message = reason;
  end
  $$`,
  `create or replace function pg_temp.imported(field text, user_id bigint)
  returns bigint
  return case when pg_temp.expect(
    exists (select from public.users where id = user_id and auth_id = ${authIdOf}),
    field || ': ' || user_id || ' is no user of an import'
  ) then user_id end`,
]

/** A batch of each kind, as the JSON array $1: rows that are there already are changed where they differ. */
export const statements: Record<Kind, string[]> = {
  users: [
    `with given as (
      select *, ${authIdOf} as auth_id, lower(email) as address, coalesce(created_at, now()) as created
      from json_to_recordset($1::text::json) as given (
        id bigint, name text, email text, password_hash text, bio text, location text, role text, is_active boolean,
        created_at timestamptz
      )
    ), accounts as (
      insert into auth.users as known (
        id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data,
        confirmation_token, recovery_token, email_change_token_new, email_change, created_at, updated_at
      )
      select
        auth_id, 'authenticated', 'authenticated', address, coalesce(password_hash, ''), created,
        '{"provider": "email", "providers": ["email"]}', '{}', '', '', '', '', created, created
      from given
      -- Who came without a password may have set one.
      on conflict (id) do update
      set
        email = excluded.email,
        encrypted_password = coalesce(nullif(excluded.encrypted_password, ''), known.encrypted_password)
    ), identities as (
      insert into auth.identities (
        id, provider, provider_id, user_id, identity_data, last_sign_in_at, created_at, updated_at
      )
      select
        gen_random_uuid(), 'email', auth_id::text, auth_id,
        jsonb_build_object('sub', auth_id, 'email', address, 'email_verified', true, 'phone_verified', false),
        now(), now(), now()
      from given
      on conflict (provider, provider_id) do update set identity_data = excluded.identity_data
    )
    insert into public.users (id, auth_id, name, email, bio, location, role, is_active, created_at, confirmed_at)
    overriding system value
    select
      id, auth_id, name, address, bio, location, coalesce(role, 'user'), coalesce(is_active, true), created, created
    from given
    -- And not (id), which may be that of an account of this service.
    on conflict (auth_id) do update
    set
      name = excluded.name, email = excluded.email, bio = excluded.bio, location = excluded.location,
      role = excluded.role, is_active = excluded.is_active`,
  ],
  interests: [
    `insert into public.interests (name)
    select name from json_to_recordset($1::text::json) as given (name text)
    on conflict (lower(name)) do nothing`,
  ],
  profiles: [
    `insert into public.profiles as known (id, user_id, ${listed})
    overriding system value
    select id, pg_temp.imported('user_id', user_id), ${listed}
    from json_populate_recordset(
      jsonb_populate_record(null::public.profiles, '{"is_searchable": false, "show_answers": true}'), $1::text::json
    )
    on conflict (id) do update
    set (${listed}) = (${updated})
    where pg_temp.expect(known.user_id = excluded.user_id, 'id: is the profile of user ' || known.user_id)`,
    `delete from public.profile_interests
    where profile_id in (select id from json_to_recordset($1::text::json) as given (id bigint))`,
    `insert into public.profile_interests (profile_id, interest_id)
    select distinct given.id, interests.id
    from json_to_recordset($1::text::json) as given (id bigint, interests text[])
    cross join unnest(given.interests) as wanted
    left join public.interests on lower(name) = lower(wanted)
    where pg_temp.expect(interests.id is not null, 'interests: ' || wanted || ' is not in the list of interests')`,
  ],
  conversations: [
    `insert into public.conversations (id, voyager_id, local_id, created_at)
    overriding system value
    select
      id, pg_temp.imported('voyager_id', given.voyager_id), pg_temp.imported('local_id', given.local_id),
      coalesce(given.created_at, now())
    from json_populate_recordset(null::public.conversations, $1::text::json) as given
    left join public.conversations as known using (id)
    where pg_temp.expect(
      known.id is null or (known.voyager_id, known.local_id) = (given.voyager_id, given.local_id),
      'id: is that of other people'
    )
    on conflict (id) do nothing`,
  ],
  messages: [
    `insert into public.messages as known (id, conversation_id, user_id, content, attachment, read, created_at)
    overriding system value
    select
      given.id, conversation_id, user_id, content, attachment, coalesce(read, false),
      coalesce(given.created_at, now())
    from json_populate_recordset(null::public.messages, $1::text::json) as given
    left join public.conversations on conversations.id = conversation_id
    where pg_temp.expect(
      user_id in (voyager_id, local_id),
      'user_id: ' || user_id || ' takes no part in conversation ' || conversation_id
    )
    on conflict (id) do update
    set content = excluded.content, attachment = excluded.attachment, read = known.read or excluded.read
    where pg_temp.expect(
      (known.conversation_id, known.user_id) = (excluded.conversation_id, excluded.user_id),
      'id: is there already, and is not this one'
    ) and (known.content, known.attachment, known.read)
      is distinct from (excluded.content, excluded.attachment, known.read or excluded.read)`,
  ],
  reservations: [
    // What the clock would tell both of today is written as it is.
    `with written as (
      insert into public.reservations as known (
        id, conversation_id, title, price, date, ends_at, status, host_id, created_at, updated_at
      )
      overriding system value
      select
        given.id, given.conversation_id, given.title, given.price, given.date, given.ends_at,
        case
          when given.status = 'pending' and given.date < now() then 'cancelled'
          when given.status = 'accepted' and coalesce(given.ends_at, given.date) < now() then 'completed'
          else given.status
        end,
        coalesce(given.host_id, local_id), coalesce(given.created_at, now()),
        coalesce(given.updated_at, given.created_at, now())
      from json_populate_recordset(null::public.reservations, $1::text::json) as given
      left join public.conversations on conversations.id = given.conversation_id
      where pg_temp.expect(
        coalesce(given.host_id, local_id) in (voyager_id, local_id),
        'host_id: takes no part in conversation ' || given.conversation_id
      )
      on conflict (id) do update
      set
        title = excluded.title, price = excluded.price, date = excluded.date, ends_at = excluded.ends_at,
        status = excluded.status, host_id = excluded.host_id, updated_at = excluded.updated_at
      where pg_temp.expect(
        known.conversation_id = excluded.conversation_id, 'id: is there already, and is not this one'
      ) and (known.title, known.price, known.date, known.ends_at, known.status, known.host_id) is distinct from
        (excluded.title, excluded.price, excluded.date, excluded.ends_at, excluded.status, excluded.host_id)
      returning *
    )
    insert into public.reservation_history (
      reservation_id, conversation_id, status, title, price, date, ends_at, created_at
    )
    select id, conversation_id, status, title, price, date, ends_at, updated_at from written`,
  ],
}

const tables = ['public.profile_interests', ...kinds.map((kind) => `public.${kind}`)]
/** What was written and is not wanted shall take no space. */
export const undo = ['rollback', `vacuum ${tables}`]

/** What the triggers would have done, without telling anybody. */
export const conclusions = [
  // Autovacuum may have found the tables empty, after a check: the plans of the index would be those of a few rows.
  `analyze ${tables}`,
  ...['users', 'profiles', 'conversations', 'messages', 'reservations'].map((table) =>
    `select setval(pg_get_serial_sequence('public.${table}', 'id'), greatest(max(id), 1)) from public.${table}`
  ),
  `insert into public.profiles (user_id)
  select id from public.users where not exists (select from public.profiles where user_id = users.id)`,
  // The instance whose accounts Supabase's Auth looks for; that of one machine has none.
  `do $$
  begin
    update auth.users set instance_id = '00000000-0000-0000-0000-000000000000' where instance_id is null;
  exception when undefined_column then
  end
  $$`,
  'select private.rebuild_inbox()',
  'select private.rebuild_search_index()',
  'commit',
  'analyze',
]

/** What is amiss after an import: both are 0. */
export const audit = `
  select
    (select 2 * count(*) from public.conversations) - (select count(*) from private.inbox_entries) as without_inbox,
    (
      select count(*) from public.profiles join public.users on users.id = profiles.user_id
      where (is_searchable and is_active) <> (profiles.id in (select profile_id from private.search_entries))
    ) as not_found`
