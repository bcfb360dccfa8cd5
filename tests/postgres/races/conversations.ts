import { expect } from 'vitest'
import type { Races } from './fixture.ts'
import { admin, by, inDays, say, step, walk } from './sides.ts'

export const conversationRaces = (
  { ask, askAs, meet, queue, overtake, expectError, people, openTalk, pair, offer, historyOf }: Races,
) => ({
  'of two who open a conversation with each other one succeeds, and the other learns its id': async () => {
    const [ana, ben] = await people(2)
    const open = (who: number, whom: number) => by(who)`api.open_conversation(${whom})`
    const [opened, refusal] = await queue(open(ana, ben), open(ben, ana))
    expect(opened).toMatchObject({ voyager_id: ana, local_id: ben })
    expect(refusal).toBe('PT409 A conversation with this user already exists')
  },
  'whoever catches up by after_id misses no message': async () => {
    const { ana, ben, talk } = await pair()
    let { id: after } = await askAs(ana)`api.send_message(${talk}, '{"content": "Start"}')`
    const seen: number[] = []
    const read = async () => {
      const page = await askAs(ben)`api.list_messages(${talk}, ${{ limit: 9, after_id: after }})`
      for (const { id } of page) seen.push(after = id)
    }
    const answers = await meet([say(ana, talk), say(ben, talk)], true, read)
    await read()
    expect(seen).toEqual(answers.map(({ id }) => id))
  },
  'of two messages with one client_id one is sent, and both have the same answer': async () => {
    const { ana, talk } = await pair()
    const send = say(ana, talk, { client_id: crypto.randomUUID() })
    const [first, second] = await queue(send, send)
    expect(second).toEqual(first)
    expect(await ask`select id from public.messages where conversation_id = ${talk}`).toEqual([first.id])
  },
  'whoever corrects a message while it is taken back learns it': async () => {
    const { ana, talk } = await pair()
    const { id } = await askAs(ana)`api.send_message(${talk}, '{"content": "Hello"}')`
    const unsend = by(ana)`api.unsend_message(${talk}, ${id}, hours => 24)`
    const edit = by(ana)`api.edit_message(
      ${talk}, ${id}, new_content => 'Hi', is_blank => false, minutes => 15, first_contact_limit => null,
      with_states => false)`
    expect((await queue(unsend, edit))[1]).toBe('PT409 This message was taken back')
  },
  'a file that is reported while its message is taken back stays, because it is evidence': async () => {
    const { ana, ben, talk } = await pair()
    const attachment = {
      url: `${talk}/${crypto.randomUUID()}/map.png`,
      name: 'map.png',
      mime_type: 'image/png',
      size: 1,
    }
    await ask`
      insert into storage.objects (bucket_id, name, owner_id, metadata)
      select 'attachments', ${attachment.url}, auth_id, '{"mimetype": "image/png", "size": 1}'
      from public.users where id = ${ana}`
    const { id } = await askAs(ana)`api.send_message(${talk}, ${{ content: '', attachment }})`
    const report = by(ben)`api.report_person(${{ message_id: id, reason: 'scam' }})`
    const unsend = by(ana)`api.unsend_message(${talk}, ${id}, hours => 24)`
    // What the Edge Function then removes.
    const told = { ...unsend, text: `${unsend.text}; select current_setting('api.response_metadata', true)` }
    expect((await queue(report, told))[1]).toBeFalsy()
  },
  'of two messages or offers with one left before an answer, one reaches the other': async () => {
    const [one, other] = [await pair(), await pair()]
    const message = say(one.ana, one.talk, { first_contact_limit: 1 })
    const offering = by(other.ana)`api.offer_reservation(${other.talk}, ${walk}, first_contact_limit => 1)`
    for (const side of [message, offering]) await expectError(side, side, 'PT403 You can send 1 message or offer')
  },
  'a message that is sent as an admin deletes another is the latest': async () => {
    const { ana, ben, talk } = await pair()
    await ask`
      insert into public.messages (conversation_id, user_id, content, read)
      select ${talk}, person, 'Hello', true from unnest(array[${ana}, ${ben}]) as person`
    const remove = admin`delete from public.messages where conversation_id = ${talk} and user_id = ${ben}`
    const [{ id }] = await queue(say(ana, talk), remove)
    expect(await ask`select last_message_id from private.inbox_entries where conversation_id = ${talk}`)
      .toEqual([id, id])
  },
  'a conversation is archived or not, whichever of archiving and a message came first': async () => {
    for (const isFirst of [true, false]) {
      const { ana, ben, talk } = await pair()
      const sides = [by(ana)`api.set_conversation_state(${talk}, '{"archived": true}')`, say(ben, talk)]
      await queue(...(isFirst ? sides : sides.toReversed()))
      expect(
        await ask`select is_archived from private.inbox_entries where conversation_id = ${talk} and user_id = ${ana}`,
      )
        .toEqual([!isFirst])
    }
  },
  'whoever archives again what a message has just shown tells their other devices': async () => {
    const { ana, ben, talk } = await pair()
    const archive = by(ana)`api.set_conversation_state(${talk}, '{"archived": true}')`
    await askAs(ana)`api.set_conversation_state(${talk}, '{"archived": true}')`
    await queue(say(ben, talk), archive)
    expect(await ask`select user_id from private.changes where conversation_id = ${talk} and kind = 'state'`)
      .toEqual([ana, ana])
  },
  'whoever takes the place of a participant who is reading has as many messages unread as there are': async () => {
    const [ana, ben, cleo] = await people(3)
    const talk = await openTalk(ana, ben)
    const { id } = await askAs(ana)`api.send_message(${talk}, '{"content": "Hello"}')`
    const replace = admin`update public.conversations set local_id = ${cleo} where id = ${talk}`
    await queue(replace, by(ben)`api.mark_read(${talk}, ${id}, true)`)
    const unread = await ask`select id from public.messages where conversation_id = ${talk} and not read`
    expect(await ask`select unread from private.inbox_entries where conversation_id = ${talk} and user_id = ${cleo}`)
      .toEqual([unread.length])
  },
  'of two offers with one client_id one is made, and both have the same answer': async () => {
    const { ana, talk } = await pair()
    const send = by(ana)`api.offer_reservation(${talk}, ${{ ...walk, client_id: crypto.randomUUID() }})`
    const [first, second] = await queue(send, send)
    expect(second).toEqual(first)
  },
  'of two answers to an offer the second is refused, unless it is the same': async () => {
    const results: Record<string, string> = { counter: 'pending', accept: 'accepted', decline: 'declined' }
    for (const [first, status] of Object.entries({ ...results, cancel: 'cancelled' })) {
      for (const second of Object.keys(results)) {
        const { ana, ben, talk } = await pair()
        const id = await offer(talk)
        const sides = [first, second].map((name) =>
          name === 'counter'
            ? by(ana)`api.counter_reservation(${talk}, ${id}, revision => 1, changes => '{"price": 2}')`
            : step(name === 'cancel' ? ana : ben, talk, id, name)
        )
        const [, answer] = await queue(...sides)
        const refusal = status === 'pending' ? 'This offer has changed' : `This reservation is ${status}`
        if (second === first && status !== 'pending') expect(answer).toMatchObject({ status, revision: 1 })
        else expect(answer, `${first}, ${second}`).toMatch(`PT409 ${refusal}`)
        expect(await historyOf(id)).toEqual(['pending', status])
      }
    }
  },
  'of two acceptances at one time the second is refused': async () => {
    const [ana, ben, host] = await people(3)
    const accept = async (guest: number) => {
      const talk = await openTalk(guest, host)
      return step(host, talk, await offer(talk), 'accept')
    }
    await expectError(await accept(ana), await accept(ben), 'PT409 The host has another reservation at that time')
  },
  'two admins who accept reservations of one host at the same times do not stop each other': async () => {
    const [ana, ben, host] = await people(3)
    const offers = async (guest: number): Promise<number[]> => {
      const talk = await openTalk(guest, host)
      return [await offer(talk), await offer(talk, { date: inDays(12), ends_at: inDays(14) })]
    }
    const accept = (ids: number[], stop = '') => ({
      caller: null,
      stop,
      text: ids.map((id) => `update public.reservations set status = 'accepted' where id = ${id}`).join('; '),
    })
    const first = accept(await offers(ana), 'update reservations, update reservations')
    await expectError(first, accept((await offers(ben)).toReversed()), '23P01 conflicting key value')
  },
  'an offer whose date passes while its acceptance waits is cancelled': async () => {
    const [ana, ben, host] = await people(3)
    const [one, other] = [await openTalk(ana, host), await openTalk(ben, host)]
    const first = await offer(one, { date: inDays(12), ends_at: inDays(14) })
    const sides = [step(host, one, first, 'accept'), step(host, other, await offer(other), 'accept')]
    const [, refusal] = await meet(sides, true, () => ask`update tests.clock set ahead = '3 days'`)
    expect(refusal).toBe('PT409 This reservation is cancelled')
  },
  'the clock neither waits for somebody who takes a step, nor changes it': async () => {
    const { ana, talk } = await pair()
    const id = await offer(talk)
    await ask`update public.reservations set status = 'accepted' where id = ${id}`
    const run = admin`update tests.clock set ahead = '5 days'; select private.settle_reservations()`
    await overtake(step(ana, talk, id, 'cancel'), run)
    expect(await historyOf(id)).toEqual(['pending', 'accepted', 'cancelled'])
  },
})
