import type { Query } from '../../functions/_shared/postgres.ts'
import { errorMap, explainErrors } from '../../functions/_shared/validate.ts'
import { formats, kinds, type Row } from './format.ts'
import { authIdOf } from './load.ts'
import { linesOf } from './read.ts'

const longest = 366 * 86_400_000

export interface LineError {
  file: string
  line: number
  reason: string
}

interface Line {
  file: string
  line: number
  row: Row
}

/** Calls `found` with everything in the folder that does not fit; returns how many lines each file has. */
export const check = async (folder: string, query: Query, found: (error: LineError) => void) => {
  const ask = async (statement: string, ...values: unknown[]) =>
    (await query(statement, values)) as Record<string, string>[]
  // What the database has already, of an earlier run or of its own.
  const users = new Set<unknown>()
  const others = new Set<unknown>()
  const emails = new Map<string, unknown>()
  const accounts =
    `select id, lower(email) as email, coalesce(auth_id = ${authIdOf}, false) as is_imported from public.users`
  for (const { id, email, is_imported } of await ask(accounts)) {
    users.add(Number(id))
    if (!is_imported) others.add(Number(id))
    if (email) emails.set(email, Number(id))
  }
  const interests = new Set((await ask('select lower(name) as name from public.interests')).map(({ name }) => name))
  const conversations = new Map<unknown, unknown[]>()
  const pairs = new Map<string, unknown>()
  const pairOf = (people: unknown[]) => people.map(Number).sort((one, other) => one - other).join()
  for (const { id, voyager_id, local_id } of await ask('select id, voyager_id, local_id from public.conversations')) {
    conversations.set(Number(id), [Number(voyager_id), Number(local_id)])
    pairs.set(pairOf([voyager_id, local_id]), Number(id))
  }
  const profileOf = new Map<unknown, unknown>()
  for (const { id, user_id } of await ask('select id, user_id from public.profiles')) {
    profileOf.set(Number(user_id), Number(id))
  }
  const ownerOf = new Map([...profileOf].map(([user, profile]) => [profile, user]))
  const agreed = new Map<unknown, [from: number, to: number][]>()

  const refuses = {
    users: ({ id, email }: Row): string | null => {
      const address = String(email).toLowerCase()
      const holder = emails.get(address)
      if (holder !== undefined && holder !== id) return `email: is that of user ${holder}, too`
      if (others.has(id)) return `id: user ${id} is another account of this service`
      users.add(id)
      emails.set(address, id)
      return null
    },
    interests: ({ name }: Row) => {
      interests.add(String(name).toLowerCase())
      return null
    },
    profiles: ({ id, user_id, interests: names }: Row) => {
      const unknown = (names as string[] ?? []).filter((name) => !interests.has(name.toLowerCase()))
      if (!users.has(user_id)) return `user_id: there is no user ${user_id}`
      if (others.has(user_id)) return `user_id: user ${user_id} is another account of this service`
      if ((profileOf.get(user_id) ?? id) !== id) return `user_id: user ${user_id} has profile ${profileOf.get(user_id)}`
      if ((ownerOf.get(id) ?? user_id) !== user_id) return `id: is the profile of user ${ownerOf.get(id)}`
      if (unknown.length > 0) return `interests: ${unknown.join(', ')}: in neither interests nor this service's list`
      profileOf.set(user_id, id)
      ownerOf.set(id, user_id)
      return null
    },
    conversations: ({ id, voyager_id, local_id }: Row) => {
      const pair = pairOf([voyager_id, local_id])
      if (voyager_id === local_id) return 'local_id: is the voyager'
      for (const user of [voyager_id, local_id]) {
        if (!users.has(user)) return `there is no user ${user}`
        if (others.has(user)) return `user ${user} is another account of this service`
      }
      if ((pairs.get(pair) ?? id) !== id) return `is another conversation of the two of ${pairs.get(pair)}`
      const known = conversations.get(id)
      if (known && pairOf(known) !== pair) return `id: conversation ${id} is that of other people`
      conversations.set(id, [voyager_id, local_id])
      pairs.set(pair, id)
      return null
    },
    messages: ({ conversation_id, user_id, content, attachment }: Row) => {
      const participants = conversations.get(conversation_id)
      if (!participants) return `conversation_id: there is no conversation ${conversation_id}`
      if (!participants.includes(user_id)) return `user_id: user ${user_id} does not take part in the conversation`
      return /[^\s\p{Cc}]/u.test(String(content)) || attachment
        ? null
        : 'content: must not be blank without an attachment'
    },
    reservations: ({ conversation_id, host_id, status, date, ends_at }: Row) => {
      const participants = conversations.get(conversation_id)
      if (!participants) return `conversation_id: there is no conversation ${conversation_id}`
      const host = host_id ?? participants[1]
      if (!participants.includes(host)) return `host_id: user ${host} does not take part in the conversation`
      if (!ends_at) return null
      const [from, to] = [Date.parse(String(date)), Date.parse(String(ends_at))]
      if (to <= from || to > from + longest) return 'ends_at: must be after date, by 366 days at most'
      if (status !== 'accepted' || to < Date.now()) return null
      const times = agreed.get(host) ?? []
      if (times.some(([begin, end]) => from < end && begin < to)) return `date: user ${host} has agreed on another then`
      agreed.set(host, [...times, [from, to]])
      return null
    },
  }

  /** Rows of these ids that the database has in another conversation, or by another person. */
  const findForeign = async (kind: 'messages' | 'reservations', lines: Line[]) => {
    const isForeign = kind === 'messages'
      ? '(known.conversation_id, known.user_id) <> (given.conversation_id, given.user_id)'
      : 'known.conversation_id <> given.conversation_id'
    const foreign = await ask(
      `select id
      from json_to_recordset($1::text::json) as given (id bigint, conversation_id bigint, user_id bigint)
      join public.${kind} as known using (id)
      where ${isForeign}`,
      JSON.stringify(lines.map(({ row }) => row)),
    )
    const ids = new Set(foreign.map(({ id }) => Number(id)))
    for (const { file, line, row: { id } } of lines) {
      if (ids.has(Number(id))) found({ file, line, reason: `id: ${id} is there already, and is not this one` })
    }
  }

  const counts: Record<string, number> = {}
  for (const kind of kinds) {
    const ids = new Set<unknown>()
    const batch: Line[] = []
    counts[kind] = 0
    for await (const { file, line, row } of linesOf(folder, kind)) {
      counts[kind]++
      const parsed = row && formats[kind].safeParse(row, { error: errorMap })
      const reason = !parsed
        ? 'is no JSON object'
        : !parsed.success
        ? explainErrors(parsed.error, row)
        : 'id' in row && ids.has(row.id)
        ? `id: ${row.id} is there twice`
        : refuses[kind](row)
      if (reason) found({ file, line, reason })
      if (row && 'id' in row) ids.add(row.id)
      if (kind !== 'messages' && kind !== 'reservations') continue
      if (row && !reason) batch.push({ file, line, row })
      if (batch.length === 2000) await findForeign(kind, batch.splice(0))
    }
    if (kind === 'messages' || kind === 'reservations') await findForeign(kind, batch)
  }
  return counts
}
