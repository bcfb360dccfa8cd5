import { expect } from 'vitest'
import { type Answer, call } from '../../tools/people.ts'
import { compareChanges } from './changes.ts'
import {
  accountError,
  type Command,
  command,
  expectStatus,
  isBlocked,
  type ModelConversation,
  takesPart,
} from './model.ts'
import { compareReports } from './reports.ts'
import { compareReservations } from './reservations.ts'
import { compareStates } from './states.ts'

export const compare = (caller: number): Command =>
  command(`${caller} compares everything with the model`, async (model, real) => {
    const { users, city, base } = real
    const me = model.users[caller]!
    const { token, id } = users[caller]!
    // Search returns active searchable users, except the caller and blocked ones. An inactive caller is anonymous.
    const found = await call(
      'GET',
      `${base}/users/search?${new URLSearchParams({ filterCity: city, limit: '100' })}`,
      undefined,
      {
        token,
      },
    )
    const seen = users.filter((_, one) =>
      model.users[one]!.searchable && model.users[one]!.active &&
      !(me.active && (one === caller || isBlocked(model, caller, one)))
    )
    expectStatus(found, 200)
    expect(found.body.hits.map((hit: { user_id: number }) => hit.user_id).toSorted()).toEqual(
      seen.map((one) => one.id).toSorted(),
    )
    expect(found.body.estimatedTotalHits).toBe(seen.length)

    const unread = await users[caller]!.call('GET', '/conversations/unread')
    const error = accountError(model, caller)
    if (error) return expectStatus(unread, error)
    const mine = model.conversations.filter((talk) => takesPart(talk, caller))
    const counts = mine.map((talk) => ({
      conversation_id: talk.id,
      unread: talk.messages.filter(({ sender, read }) => sender !== caller && !read).length,
    })).filter((count) => count.unread > 0).toSorted((one, other) => one.conversation_id - other.conversation_id)
    expect(unread.body).toEqual({ total: counts.reduce((sum, count) => sum + count.unread, 0), conversations: counts })

    const list = await users[caller]!.call('GET', '/conversations?partner=true')
    const activeAt = (talk: ModelConversation) => talk.messages.at(-1)?.at ?? talk.openedAt
    expect(list.body.map((one: { id: number }) => one.id)).toEqual(
      mine.toSorted((one, other) => activeAt(other) - activeAt(one)).map((one) => one.id),
    )
    for (const talk of mine) {
      const shown = list.body.find((one: { id: number }) => one.id === talk.id)
      expect([shown.voyager_id, shown.local_id]).toEqual([users[talk.voyager]!.id, users[talk.local]!.id])
      // PARTNER_EMAIL=after_reply; across a block nobody sees the other's.
      for (const [side, user] of [['Voyager', talk.voyager], ['Local', talk.local]] as const) {
        const isShown = !model.users[user]!.erased &&
          (user === caller || talk.written.has(user) && !isBlocked(model, caller, user))
        expect(shown[side].email).toBe(isShown ? users[user]!.email : '')
      }
      const partner = talk.voyager === caller ? talk.local : talk.voyager
      const { searchable, active } = model.users[partner]!
      const isPublic = searchable && active && !isBlocked(model, caller, partner)
      expect([shown.partner.id, shown.partner.profile !== null]).toEqual([users[partner]!.id, isPublic])
      expect(shown.Messages.map((one: { id: number }) => one.id)).toEqual(talk.messages.slice(-1).map((one) => one.id))
      const { body } = await users[caller]!.call('GET', `/conversations/${talk.id}/messages?order=asc&limit=100`)
      expect(body.map((one: Answer['body']) => [one.id, one.user_id, one.content, one.read]))
        .toEqual(talk.messages.map((one) => [one.id, users[one.sender]!.id, one.content, one.read]))
    }
    expect((await users[caller]!.call('GET', '/users/me')).body).toMatchObject({
      id,
      Profile: { is_searchable: me.searchable },
    })
    const blocks = await users[caller]!.call('GET', '/users/me/blocks')
    expect(blocks.body.map((one: { user_id: number }) => one.user_id).toSorted()).toEqual(
      [...me.blocked].map((one) => users[one]!.id).toSorted(),
    )
    await compareChanges(caller, model, users)
    await compareStates(caller, mine, users)
    await compareReservations(caller, mine, users)
    await compareReports(caller, model, users)
  })
