import type { Query } from '../../functions/_shared/postgres.ts'
import { type Kind, kinds, type Row } from './format.ts'
import { batchesOf } from './read.ts'

/** The Auth account of an imported user, by the user's id: a second run finds it again. */
export const authIdOf = `md5('imported user ' || id)::uuid`

/** A batch of each kind, as the JSON array $1: rows that are there already are changed where they differ. */
const statements: Record<Kind, string[]> = {
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
    on conflict (id) do update
    set
      name = excluded.name, email = excluded.email, bio = excluded.bio, location = excluded.location,
      role = excluded.role, is_active = excluded.is_active`,
  ],
  interests: [
    `insert into public.interests (name)
    select name
    from json_to_recordset($1::text::json) as given (name text)
    where not exists (select from public.interests where lower(interests.name) = lower(given.name))`,
  ],
  profiles: [
    `insert into public.profiles (
      id, user_id, first_name, last_name, age, biography, country, city, image_url, is_searchable
    )
    overriding system value
    select
      id, user_id, first_name, last_name, age, biography, country, city, image_url, coalesce(is_searchable, false)
    from json_populate_recordset(null::public.profiles, $1::text::json)
    on conflict (id) do update
    set
      first_name = excluded.first_name, last_name = excluded.last_name, age = excluded.age,
      biography = excluded.biography, country = excluded.country, city = excluded.city,
      image_url = excluded.image_url, is_searchable = excluded.is_searchable`,
    `delete from public.profile_interests
    where profile_id in (select id from json_to_recordset($1::text::json) as given (id bigint))`,
    `insert into public.profile_interests (profile_id, interest_id)
    select distinct given.id, interests.id
    from json_to_recordset($1::text::json) as given (id bigint, interests text[])
    join public.interests on lower(interests.name) = any (select lower(name) from unnest(given.interests) as name)`,
  ],
  conversations: [
    `insert into public.conversations (id, voyager_id, local_id, created_at)
    overriding system value
    select id, voyager_id, local_id, coalesce(created_at, now())
    from json_populate_recordset(null::public.conversations, $1::text::json)
    on conflict (id) do nothing`,
  ],
  messages: [
    `insert into public.messages as known (id, conversation_id, user_id, content, attachment, read, created_at)
    overriding system value
    select id, conversation_id, user_id, content, attachment, coalesce(read, false), coalesce(created_at, now())
    from json_populate_recordset(null::public.messages, $1::text::json)
    on conflict (id) do update
    set content = excluded.content, attachment = excluded.attachment, read = known.read or excluded.read
    where (known.conversation_id, known.user_id) = (excluded.conversation_id, excluded.user_id)
      and (known.content, known.attachment, known.read)
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
        coalesce(given.host_id, conversations.local_id), coalesce(given.created_at, now()),
        coalesce(given.updated_at, given.created_at, now())
      from json_populate_recordset(null::public.reservations, $1::text::json) as given
      join public.conversations on conversations.id = given.conversation_id
      on conflict (id) do update
      set
        title = excluded.title, price = excluded.price, date = excluded.date, ends_at = excluded.ends_at,
        status = excluded.status, host_id = excluded.host_id, updated_at = excluded.updated_at
      where known.conversation_id = excluded.conversation_id
        and (known.title, known.price, known.date, known.ends_at, known.status, known.host_id) is distinct from
        (excluded.title, excluded.price, excluded.date, excluded.ends_at, excluded.status, excluded.host_id)
      returning *
    )
    insert into public.reservation_history (
      reservation_id, conversation_id, status, title, price, date, ends_at, created_at
    )
    select id, conversation_id, status, title, price, date, ends_at, updated_at from written`,
  ],
}

/** What the triggers would have done, without telling anybody. */
const conclusions = [
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
]

/** What is amiss after an import: every count is 0. */
const audit = `
  select
    (select count(*) from public.users where id not in (select user_id from public.profiles)) as without_profile,
    (select count(*) * 2 - (select count(*) from private.inbox_entries) from public.conversations) as without_inbox,
    (
      select count(*)
      from public.profiles
      join public.users on users.id = profiles.user_id
      where is_searchable and is_active and profiles.id not in (select profile_id from private.search_entries)
    ) as not_found,
    (
      select count(*)
      from public.messages
      join public.conversations on conversations.id = conversation_id
      where user_id not in (voyager_id, local_id)
    ) as foreign_messages`

/**
 * Loads what has passed the check, and calls `loaded` after each batch, which is a transaction of its own: an
 * interrupted import is repeated. Triggers are off, so that nobody is told.
 */
export const load = async (
  folder: string,
  query: Query,
  since: Date | null,
  loaded: (kind: string, done: number) => void,
): Promise<Row> => {
  const transaction = async (texts: string[], values: unknown[]) => {
    await query('begin', [])
    try {
      await query('set local session_replication_role = replica', [])
      // Gathering an inbox or the words of all profiles takes longer than a request may.
      await query('set local statement_timeout = 0', [])
      for (const text of texts) await query(text, values)
      await query('commit', [])
    } catch (error) {
      await query('rollback', [])
      throw error
    }
  }
  const isWanted = ({ updated_at, created_at }: Row): boolean => {
    const moment = updated_at ?? created_at
    return since === null || moment === undefined || new Date(String(moment)) >= since
  }
  for (const kind of kinds) {
    let done = 0
    for await (const lines of batchesOf(folder, kind)) {
      const rows = lines.map(({ row }) => row!).filter(isWanted)
      if (rows.length > 0) await transaction(statements[kind], [JSON.stringify(rows)])
      loaded(kind, done += lines.length)
    }
  }
  loaded('the indexes', 0)
  await transaction(conclusions, [])
  await query('analyze', [])
  const [findings] = await query(audit, [])
  return findings!
}
