import { expect } from 'vitest'
import { type Answer, call } from '../../tools/people.ts'
import { shownState } from './conversations.ts'
import * as m from './model.ts'

type Rows = Answer['body'][]
type Fixture = m.Fixture & { caller: number; get: (path: string) => Promise<Answer['body']> }
const byId = (one: { id: number }, other: { id: number }): number => other.id - one.id

/** Each entity once, at its latest, as texts in order; a message that was removed is the same entity. */
const latestOf = (changes: m.Change[]): string[] =>
  [
    ...new Map(changes.map(({ kind, conversation_id, id }) => [
      `${kind.split('.')[0]} ${conversation_id} ${id}`,
      `${kind} ${conversation_id} ${id}`,
    ])).values(),
  ].toSorted()

/** What has changed for the caller since the last comparison; nothing less, and nothing of anybody else. */
export const compareChanges = async ({ model, users }: m.Fixture, caller: number): Promise<void> => {
  const me = model.users[caller]!
  const path = `/conversations/changes?limit=500${me.cursor ? `&after=${me.cursor}` : ''}`
  const { body } = await users[caller]!.call('GET', path)
  // The clock settles these when it comes to them.
  const past = model.talks.flatMap(({ reservations }) => reservations).filter(({ isPast }) => isPast)
  const certain = (changes: m.Change[]) =>
    latestOf(changes.filter(({ kind, id }) => kind !== 'reservation' || !past.some((one) => one.id === id)))
  if (me.cursor) expect([certain(body.changes), body.more]).toEqual([certain(me.changes), false])
  Object.assign(me, { changes: [], cursor: body.cursor })
}

/** Search returns active searchable users, except the caller and blocked ones. An inactive caller is anonymous. */
const compareSearch = async ({ model, users, city, base }: m.Fixture, caller: number): Promise<void> => {
  const isSeen = (one: number) => {
    const { searchable, active } = model.users[one]!
    const isOmitted = model.users[caller]!.active && (one === caller || m.isBlocked(model, caller, one))
    return searchable && active && !isOmitted
  }
  const seen = users.filter((_, one) => isSeen(one)).map(({ id }) => id).toSorted()
  const url = `${base}/users/search?${new URLSearchParams({ filterCity: city, limit: '100' })}`
  const { body } = await call('GET', url, undefined, { token: users[caller]!.token })
  expect([body.hits.map((hit: { user_id: number }) => hit.user_id).toSorted(), body.estimatedTotalHits])
    .toEqual([seen, seen.length])
}

const compareInbox = async ({ model, users, caller, get }: Fixture, mine: m.Talk[]): Promise<void> => {
  const counts = mine.map((talk) => ({
    conversation_id: talk.id,
    unread: talk.messages.filter(({ sender, read }) => sender !== caller && !read).length,
  })).filter(({ unread }) => unread > 0).toSorted((one, other) => one.conversation_id - other.conversation_id)
  const total = counts.reduce((sum, { unread }) => sum + unread, 0)
  expect(await get('/conversations/unread')).toEqual({ total, conversations: counts })

  const list: Rows = await get('/conversations?partner=true')
  const activeAt = (talk: m.Talk) => talk.messages.at(-1)?.at ?? talk.openedAt
  expect(list.map(({ id }) => id)).toEqual(
    mine.toSorted((one, other) => activeAt(other) - activeAt(one)).map(({ id }) => id),
  )
  for (const talk of mine) {
    const shown = list.find(({ id }) => id === talk.id)
    expect([shown.voyager_id, shown.local_id]).toEqual([users[talk.voyager]!.id, users[talk.local]!.id])
    // PARTNER_EMAIL=after_reply; across a block nobody sees the other's.
    for (const [side, user] of [['Voyager', talk.voyager], ['Local', talk.local]] as const) {
      const isShown = !model.users[user]!.erased &&
        (user === caller || talk.written.has(user) && !m.isBlocked(model, caller, user))
      expect(shown[side].email).toBe(isShown ? users[user]!.email : '')
    }
    const partner = m.partnerIn(talk, caller)
    const { searchable, active } = model.users[partner]!
    const isPublic = searchable && active && !m.isBlocked(model, caller, partner)
    expect([shown.partner.id, shown.partner.profile !== null]).toEqual([users[partner]!.id, isPublic])
    expect(shown.Messages.map(({ id }: { id: number }) => id)).toEqual(talk.messages.slice(-1).map(({ id }) => id))
    const messages: Rows = await get(`/conversations/${talk.id}/messages?order=asc&limit=100`)
    expect(messages.map(({ id, user_id, content, read }) => [id, user_id, content, read]))
      .toEqual(talk.messages.map(({ id, sender, content, read }) => [id, users[sender]!.id, content, read]))
  }
}

const compareStates = async ({ caller, get }: Fixture, mine: m.Talk[]): Promise<void> => {
  const states = mine.map((talk) => shownState(talk, caller))
    .toSorted((one, other) => other.conversation_id - one.conversation_id)
  expect(await get('/conversations/states'))
    .toEqual(states.filter(({ archived, muted_until, pinned }) => archived || muted_until || pinned))
  const listed: number[] = (await get('/conversations?archived=false&pinned=first')).map(({ id }: { id: number }) => id)
  const isPinned = (id: number) => states.find((state) => state.conversation_id === id)!.pinned
  expect(listed.toSorted()).toEqual(
    states.filter(({ archived }) => !archived).map(({ conversation_id }) => conversation_id).toSorted(),
  )
  expect(listed).toEqual([...listed.filter(isPinned), ...listed.filter((id) => !isPinned(id))])
}

const compareReservations = async ({ users, get }: Fixture, mine: m.Talk[]): Promise<void> => {
  const expected = mine.flatMap((talk) => talk.reservations.map((one) => ({ ...one, talk }))).toSorted(byId)
  const list: Rows = await get('/users/me/reservations?limit=100')
  expect(list.map((one) => [one.id, one.conversation_id, one.title, one.status, one.offered_by, one.revision]))
    .toEqual(expected.map(({ id, talk, title, status, offeredBy, revision }) => [
      ...[id, talk.id, title, status, users[offeredBy]!.id, revision],
    ]))
  for (const { id, talk, history } of expected.slice(0, 3)) {
    const detail = await get(`/conversations/${talk.id}/reservations/${id}`)
    expect(detail.history.map((entry: Answer['body']) => [entry.status, entry.by]))
      .toEqual(history.map(([status, by]) => [status, by === null ? null : users[by]!.id]))
  }
}

/** Compares what the caller sees of everything with the model. */
export const compare = async (fixture: m.Fixture, caller: number): Promise<void> => {
  const { model, users } = fixture
  const me = model.users[caller]!
  await compareSearch(fixture, caller)
  if (!await m.ask(fixture, caller, ['GET', '/users/me'], [])) return
  const get = async (path: string) => (await m.ask(fixture, caller, ['GET', path], []))!.body
  const mine = model.talks.filter((talk) => m.takesPart(talk, caller))
  expect(await get('/users/me')).toMatchObject({
    id: users[caller]!.id,
    Profile: { is_searchable: me.searchable },
  })
  const blocks: Rows = await get('/users/me/blocks')
  expect(blocks.map((one) => one.user_id).toSorted()).toEqual([...me.blocked].map((one) => users[one]!.id).toSorted())
  const reports: Rows = await get('/users/me/reports?limit=100')
  const filed = model.reports.filter(({ reporter }) => reporter === caller).toSorted(byId)
  expect(reports.map(({ id, status }) => [id, status]))
    .toEqual(filed.map(({ id, isOpen }) => [id, isOpen ? 'open' : 'resolved']))
  await compareChanges(fixture, caller)
  for (const part of [compareInbox, compareStates, compareReservations]) await part({ ...fixture, caller, get }, mine)
}
