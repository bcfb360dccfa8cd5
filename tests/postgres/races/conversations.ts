import { expect } from 'vitest'
import { inDays, nobodyWaits, say, step, waits, walk } from './fixture.ts'
import { admin, by } from './meet.ts'
import type { Races } from './all.ts'

export const conversationRaces = ({ ask, askAs, meet, people, openTalk, pair, offer, historyOf }: Races) => ({
  'of two who open a conversation with each other one succeeds, and the other learns its id': async () => {
    const [ana, ben] = await people(2)
    const open = (who: number, whom: number) => by(who)`api.open_conversation(${whom})`
    const [opened, refusal] = await meet([open(ana, ben), open(ben, ana)], waits)
    expect(opened).toMatchObject({ voyager_id: ana, local_id: ben })
    expect(refusal).toMatch(/^PT409 /)
  },
  'whoever catches up by after_id misses no message': async () => {
    const { ana, ben, talk } = await pair()
    let after = (await askAs(ana)`api.send_message(${talk}, '{"content": "Start"}')`).id
    const seen: number[] = []
    const read = async () => {
      const page = await askAs(ben)`api.list_messages(${talk}, ${{ limit: 9, after_id: after }})`
      for (const { id } of page) seen.push(after = id)
    }
    const answers = await meet([say(ana, talk), say(ben, talk)], { ...waits, meanwhile: read })
    await read()
    expect(seen).toEqual(answers.map(({ id }) => id))
  },
  'of two messages with one client_id one is sent, and both have the same answer': async () => {
    const { ana, talk } = await pair()
    const send = say(ana, talk, { client_id: crypto.randomUUID() })
    const [first, second] = await meet([send, send], waits)
    expect(second).toEqual(first)
    expect(await ask`select id from public.messages where conversation_id = ${talk}`).toEqual([first.id])
  },
  'of two messages or offers with one left before an answer, one reaches the other': async () => {
    const { ana, talk } = await pair()
    const message = say(ana, talk, { first_contact_limit: 1 })
    const [, refusal] = await meet([message, message], waits)
    expect(refusal).toMatch(/^PT403 You can send 1 message or offer/)
    const [cleo, dan] = await people(2)
    const other = await openTalk(cleo, dan)
    const offering = by(cleo)`api.offer_reservation(${other}, ${walk}, first_contact_limit => 1)`
    expect((await meet([offering, offering], waits))[1]).toBe(refusal)
  },
  'a message that is sent as an admin deletes another is the latest': async () => {
    const { ana, ben, talk } = await pair()
    await ask`
      insert into public.messages (conversation_id, user_id, content, read)
      select ${talk}, person, 'Hello', true from unnest(array[${ana}, ${ben}]) as person`
    const [sent] = await meet([
      say(ana, talk),
      admin`delete from public.messages where conversation_id = ${talk} and user_id = ${ben}`,
    ], waits)
    expect(await ask`select last_message_id from private.conversation_activity where conversation_id = ${talk}`)
      .toEqual([sent.id])
  },
  'a conversation is archived or not, whichever of archiving and a message came first': async () => {
    for (const isFirst of [true, false]) {
      const { ana, ben, talk } = await pair()
      const archive = by(ana)`api.set_conversation_state(${talk}, '{"archived": true}')`
      await meet(isFirst ? [archive, say(ben, talk)] : [say(ben, talk), archive], waits)
      expect(
        await ask`
        select is_archived from private.inbox_entries where conversation_id = ${talk} and user_id = ${ana}`,
      ).toEqual([!isFirst])
    }
  },
  'of two offers with one client_id one is made, and both have the same answer': async () => {
    const { ana, talk } = await pair()
    const send = by(ana)`api.offer_reservation(${talk}, ${{ ...walk, client_id: crypto.randomUUID() }})`
    const [first, second] = await meet([send, send], waits)
    expect(second).toEqual(first)
  },
  'of two answers to an offer the second is refused': async () => {
    const { ana, ben, talk } = await pair()
    const id = await offer(talk)
    const [, refusal] = await meet([step(ana, talk, id, 'cancel'), step(ben, talk, id, 'decline')], waits)
    expect(refusal).toBe('PT409 This reservation is cancelled')
    expect(await historyOf(id)).toEqual(['pending', 'cancelled'])
  },
  'of two acceptances at one time the second is refused': async () => {
    const [ana, ben, host] = await people(3)
    const [one, other] = [await openTalk(ana, host), await openTalk(ben, host)]
    const [, refusal] = await meet([
      step(host, one, await offer(one), 'accept'),
      step(host, other, await offer(other), 'accept'),
    ], waits)
    expect(refusal).toBe('PT409 The host has another reservation at that time')
  },
  'two admins who accept reservations of one host at the same times do not stop each other': async () => {
    const [ana, ben, host] = await people(3)
    const offers = async (guest: number): Promise<number[]> => {
      const talk = await openTalk(guest, host)
      return [await offer(talk), await offer(talk, { date: inDays(12), ends_at: inDays(14) })]
    }
    const [one, other] = [await offers(ana), await offers(ben)]
    const accept = (ids: number[], stop = '') => ({
      caller: null,
      stop,
      text: ids.map((id) => `update public.reservations set status = 'accepted' where id = ${id}`).join('; '),
    })
    const [, refusal] = await meet([
      accept(one, 'update reservations, update reservations'),
      accept(other.toReversed()),
    ], waits)
    expect(refusal).toMatch(/^23P01 .*accepted reservations of a host do not overlap/)
  },
  'an offer whose date passes while its acceptance waits is cancelled': async () => {
    const [ana, ben, host] = await people(3)
    const [one, other] = [await openTalk(ana, host), await openTalk(ben, host)]
    const first = await offer(one, { date: inDays(12), ends_at: inDays(14) })
    const [, refusal] = await meet(
      [step(host, one, first, 'accept'), step(host, other, await offer(other), 'accept')],
      { ...waits, meanwhile: () => ask`update tests.clock set ahead = '3 days'` },
    )
    expect(refusal).toBe('PT409 This reservation is cancelled')
  },
  'the clock neither waits for somebody who takes a step, nor changes it': async () => {
    const { ana, talk } = await pair()
    const id = await offer(talk)
    await ask`update public.reservations set status = 'accepted' where id = ${id}`
    await meet([
      step(ana, talk, id, 'cancel'),
      admin`update tests.clock set ahead = '5 days'; select private.settle_reservations()`,
    ], nobodyWaits)
    expect(await historyOf(id)).toEqual(['pending', 'accepted', 'cancelled'])
  },
})
