import type { Query } from '../../functions/_shared/postgres.ts'
import { errorMap, explainErrors } from '../../functions/_shared/validate.ts'
import { formats, type Kind, kinds, type Row } from './format.ts'
import { authIdOf } from './load.ts'
import { batchesOf, type Line } from './read.ts'

export interface LineError {
  file: string
  line: number
  reason: string
}

/** Calls `found` with everything in the folder that does not fit; returns how many lines each file has. */
export const check = async (folder: string, query: Query, found: (error: LineError) => void) => {
  // What the database has already, of an earlier run or of its own; then what the files have.
  const accounts = await query(
    `select id::float8, lower(email) as email, coalesce(auth_id = ${authIdOf}, false) as is_imported from public.users`,
    [],
  )
  const isImported = new Map(accounts.map(({ id, is_imported }) => [id, is_imported]))
  const emails = new Map(accounts.map(({ id, email }) => [email, id]))
  const interests = new Set(
    (await query('select lower(name) as name from public.interests', [])).map(({ name }) => name),
  )
  const profiles = await query('select id::float8, user_id::float8 from public.profiles', [])
  const profileOf = new Map(profiles.map(({ id, user_id }) => [user_id, id]))
  const ownerOf = new Map(profiles.map(({ id, user_id }) => [id, user_id]))
  const talks = await query('select id::float8, voyager_id::float8, local_id::float8 from public.conversations', [])
  const pairOf = (people: unknown[]) => people.toSorted((one, other) => Number(one) - Number(other)).join()
  const participants = new Map(talks.map(({ id, voyager_id, local_id }) => [id, [voyager_id, local_id]]))
  const pairs = new Map(talks.map(({ id, voyager_id, local_id }) => [pairOf([voyager_id, local_id]), id]))
  const agreed = new Map<unknown, [from: number, to: number][]>()

  /** Says what is wrong if another has it; else it is taken. */
  const take = <Key>(holders: Map<Key, unknown>, key: Key, own: unknown, reason: (holder: unknown) => string) => {
    const holder = holders.get(key) ?? own
    if (holder !== own) return reason(holder)
    holders.set(key, own)
  }
  const refuseUser = (user: unknown) => {
    if (!isImported.has(user)) return `there is no user ${user}`
    if (!isImported.get(user)) return `user ${user} is another account of this service`
  }
  const refuseParticipant = (conversation: unknown, field: string, user: unknown) => {
    const people = participants.get(conversation)
    if (!people) return `conversation_id: there is no conversation ${conversation}`
    if (!people.includes(user)) return `${field}: user ${user} does not take part in the conversation`
  }

  /** Why a row that suits its format does not fit to the others. */
  const refusals: Record<Kind, (row: Row) => string | undefined> = {
    users: ({ id, email }) => {
      const reason = take(emails, String(email).toLowerCase(), id, (holder) => `email: is that of user ${holder}, too`)
      if (!reason && isImported.get(id) === false) return `id: ${refuseUser(id)}`
      if (!reason) isImported.set(id, true)
      return reason
    },
    interests: ({ name }) => void interests.add(String(name).toLowerCase()),
    profiles: ({ id, user_id, interests: names }) => {
      const unknown = (names as string[] ?? []).filter((name) => !interests.has(name.toLowerCase()))
      const reason = refuseUser(user_id)
      if (reason) return `user_id: ${reason}`
      if (unknown.length > 0) return `interests: ${unknown.join(', ')}: in neither interests nor this service's list`
      return take(ownerOf, id, user_id, (other) => `id: is the profile of user ${other}`) ??
        take(profileOf, user_id, id, (other) => `user_id: user ${user_id} has profile ${other}`)
    },
    conversations: ({ id, voyager_id, local_id }) => {
      const people = [voyager_id, local_id]
      const pair = pairOf(people)
      const isOfOthers = pairOf(participants.get(id) ?? people) !== pair
      const reason = refuseUser(voyager_id) ?? refuseUser(local_id) ??
        (isOfOthers ? `id: conversation ${id} is that of other people` : undefined) ??
        take(pairs, pair, id, (other) => `is another conversation of the two of ${other}`)
      if (!reason) participants.set(id, people)
      return reason
    },
    messages: ({ conversation_id, user_id }) => refuseParticipant(conversation_id, 'user_id', user_id),
    reservations: ({ conversation_id, host_id, status, date, ends_at }) => {
      const host = host_id ?? participants.get(conversation_id)?.[1]
      const reason = refuseParticipant(conversation_id, 'host_id', host)
      const [from, to] = [Date.parse(String(date)), Date.parse(String(ends_at))]
      if (reason || !ends_at || status !== 'accepted' || to < Date.now()) return reason
      const times = agreed.get(host) ?? []
      if (times.some(([begin, end]) => from < end && begin < to)) return `date: user ${host} has agreed on another then`
      agreed.set(host, [...times, [from, to]])
    },
  }

  /** The ids of these that the database has in another conversation, or by another person. */
  const findForeign = async (kind: 'messages' | 'reservations', lines: Line[]) => {
    const foreign = await query(
      `select id::float8
      from json_to_recordset($1::text::json) as given (id bigint, conversation_id bigint, user_id text)
      join public.${kind} as known using (id)
      where (known.conversation_id, to_json(known) ->> 'user_id')
        is distinct from (given.conversation_id, given.user_id)`,
      [JSON.stringify(lines.map(({ row }) => row))],
    )
    return new Set(foreign.map(({ id }) => id))
  }

  const counts: Record<string, number> = {}
  for (const kind of kinds) {
    const ids = new Set<unknown>()
    counts[kind] = 0
    for await (const lines of batchesOf(folder, kind)) {
      counts[kind] += lines.length
      const fitting = lines.filter(({ file, line, row }) => {
        const parsed = row && formats[kind].safeParse(row, { error: errorMap })
        const reason = !parsed
          ? 'is no JSON object'
          : !parsed.success
          ? explainErrors(parsed.error, row)
          : 'id' in row && ids.has(row.id)
          ? `id: ${row.id} is there twice`
          : refusals[kind](row)
        if (reason) found({ file, line, reason })
        ids.add(row?.id)
        return !reason
      })
      if (kind !== 'messages' && kind !== 'reservations') continue
      const foreign = await findForeign(kind, fitting)
      for (const { file, line, row } of fitting) {
        if (foreign.has(row?.id)) found({ file, line, reason: `id: ${row?.id} is there already, and is not this one` })
      }
    }
  }
  return counts
}
