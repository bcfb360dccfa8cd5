/** The cost of a request without any permission check: plain SQL for the same rows, as the owner of the tables. */

const conversationList = `
  select coalesce(json_agg(listing.body order by listing.active_at desc, listing.id desc), '[]')::text as body
  from (
    select
      conversations.id,
      coalesce(latest.created_at, conversations.created_at) as active_at,
      json_build_object(
        'id', conversations.id, 'voyager_id', voyager_id, 'local_id', local_id,
        'Voyager', json_build_object('id', voyager.id, 'name', voyager.name, 'email', voyager.email),
        'Local', json_build_object('id', local.id, 'name', local.name, 'email', local.email),
        'Messages', coalesce(latest.bodies, '[]'),
        'createdAt', private.iso(conversations.created_at)
      ) as body
    from public.conversations
    join public.users as voyager on voyager.id = voyager_id
    join public.users as local on local.id = local_id
    left join lateral (
      select created_at, json_build_array(json_build_object(
        'id', id, 'content', content, 'user_id', user_id, 'read', read, 'createdAt', private.iso(created_at)
      )) as bodies
      from public.messages
      where conversation_id = conversations.id
      order by id desc
      limit 1
    ) as latest on true
    where voyager_id = :user or local_id = :user
    order by active_at desc, conversations.id desc
  ) as listing`

const messagePage = `
  select coalesce(
    json_agg(
      private.to_message_view(entry, json_build_object('id', users.id, 'name', users.name))
      order by entry.id desc
    ),
    '[]'
  )::text as body
  from (
    select *
    from public.messages
    where conversation_id = :conversation
    order by id desc
    limit 50
  ) as entry
  join public.users on users.id = entry.user_id`

const insertMessage = `
  insert into public.messages (conversation_id, user_id, content, client_id)
  values (:conversation, :user, 'Hello there, it is me.', gen_random_uuid())
  returning json_build_object('id', id)::text as body`

/** By API function; `:user` is the caller. */
const bareSql: Record<string, string> = {
  list_conversations: conversationList,
  list_messages: messagePage,
  send_message: insertMessage,
}

/** Whether there is bare SQL for a call of an API function. */
export const hasBareSql = (call: string): boolean => call.replace(/\(.*/s, '') in bareSql

/** A session in which an insert runs none of our triggers; foreign keys are still checked (see fixture.sql). */
export const withoutTriggers = { session_replication_role: 'replica' }

/** Translates a statement of an Edge Function into bare SQL with the same parameters. */
export const bareStatement = (text: string, [claims, argument]: unknown[]) => {
  const bare = bareSql[/then api\.(\w+)/.exec(text)![1]!]!
  const known: Record<string, unknown> = {
    user: Number((claims as { sub: string }).sub.slice(-6)) - 100_000,
    conversation: argument,
  }
  const names = [...new Set([...bare.matchAll(/(?<!:):(\w+)/g)].map(([, name]) => name!))]
  const statement = names.reduce((sql, name, index) => sql.replaceAll(`:${name}`, `$${index + 1}::bigint`), bare)
  return { statement, parameters: names.map((name) => known[name]) }
}
