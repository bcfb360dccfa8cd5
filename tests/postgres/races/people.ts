import { expect } from 'vitest'
import type { Races } from './fixture.ts'
import { admin, by, device, type Side, step, walk } from './sides.ts'

const gone = 'PT401 This account no longer exists'

export const peopleRaces = (
  { ask, askAs, queue, overtake, expectError, people, openTalk, pair, report, offer }: Races,
) => ({
  'changes of one profile do not stop each other for good': async () => {
    const [ana] = await people(1)
    const change = (changes: object, stop = '') => by(ana, stop)`api.update_profile(${changes})`
    await queue(change({ name: 'Anna', city: 'Faro' }, 'update profiles'), change({ city: 'Porto' }))
  },
  'of two sets of interests the later one is kept as a whole': async () => {
    const [ana] = await people(1)
    const choose = (...ids: number[]) => by(ana)`api.set_interests(${{ ids }})`
    await queue(choose(1, 2), choose(3))
    const kept = await ask`
      select interest_id from public.profile_interests join public.profiles on id = profile_id where user_id = ${ana}`
    expect(kept).toEqual([3])
  },
  'of two accounts with one ticket the second is another person': async () => {
    const [{ ticket }] = await ask`select private.begin_sign_up('ticket@races.example', 'Ticket', '{}')`
    const signUp = admin`
      insert into auth.users (id, email, raw_user_meta_data)
      values (gen_random_uuid(), gen_random_uuid() || '@races.example', ${{ ticket }})`
    await queue(signUp, signUp)
    expect(await ask`select name from public.users order by id desc limit 2`).toEqual(['New user', 'Ticket'])
  },
  'a sign-up does not wait for an old one whose mail takes long': async () => {
    const [{ ticket }] = await ask`select private.begin_sign_up('old@races.example', 'Old', '{}')`
    await ask`update private.sign_ups set begun_at = now() - interval '2 hours' where ticket = ${ticket}`
    const waiting = admin`update private.sign_ups set name = null where ticket = ${ticket}`
    await overtake(waiting, admin`private.begin_sign_up('new@races.example', 'New', '{}')`)
  },

  'nobody waits for a sign-up whose mail takes long, with the same words and interests': async () => {
    const signUp = async () => {
      const fields = { biography: 'Quokka', bio: 'Sea', is_searchable: true, interest_ids: [1, 2] }
      const [{ ticket }] = await ask`select private.begin_sign_up('new@races.example', 'Newcomer', ${fields})`
      return admin`
        insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
        values (gen_random_uuid(), gen_random_uuid() || '@races.example', now(), ${{ ticket }})`
    }
    const [ana] = await people(1)
    await overtake(await signUp(), await signUp())
    await overtake(await signUp(), by(ana)`api.update_profile('{"biography": "Quokka", "interest_ids": [1]}')`)
  },

  'of two pins with one left one succeeds': async () => {
    const [host, ...guests] = await people(22)
    const talks: number[] = []
    for (const guest of guests) talks.push(await openTalk(guest, host))
    await ask`
      update private.inbox_entries set is_pinned = true
      where user_id = ${host} and conversation_id = any(${`{${talks.slice(2)}}`}::bigint[])`
    const pin = (talk: number) => by(host)`api.set_conversation_state(${talk}, '{"pinned": true}')`
    await expectError(pin(talks[0]!), pin(talks[1]!), 'PT400 pinned: you cannot pin more than 20 conversations')
  },
  'of two devices with one left one is stored': async () => {
    const [ana] = await people(1)
    await ask`
      insert into private.devices (user_id, id, endpoint, p256dh, auth)
      select ${ana}, id, 'https://push.example/' || id, 'B' || repeat('A', 86), repeat('A', 22)
      from (select gen_random_uuid() as id from generate_series(1, 9)) as ids`
    const put = () => by(ana)`api.put_device(gen_random_uuid(), ${device()})`
    await expectError(put(), put(), 'PT400 device: you cannot have more than 10 devices')
  },
  'a device that two people store belongs to the second': async () => {
    const [[ana, ben], shared] = [await people(2), device()]
    const put = (person: number) => by(person)`api.put_device(gen_random_uuid(), ${shared})`
    await queue(put(ana), put(ben))
    expect(await ask`select user_id from private.devices where endpoint = ${shared.endpoint}`).toEqual([ben])
  },
  'of two blocks with one left one succeeds': async () => {
    const [ana, ben, cleo] = await people(3)
    await ask`
      with others as (
        insert into public.users (name, email) select 'Other', '' from generate_series(1, 999) returning id
      )
      insert into private.blocks (blocker_id, blocked_id) select ${ana}, id from others`
    const block = (person: number) => by(ana)`api.block_person(${person})`
    await expectError(block(ben), block(cleo), 'PT400 user_id: you cannot block more than 1,000 people')
  },
  'of two changes of notification settings each keeps what it does not name': async () => {
    const [ana] = await people(1)
    const change = (changes: object) => by(ana)`api.update_notification_settings(${changes})`
    const [, settings] = await queue(change({ push: false }), change({ email: false }))
    expect(settings).toMatchObject({ push: false, email: false })
  },

  'whatever somebody does while they are being erased is refused': async () => {
    const acts: ((ana: number) => Side)[] = [
      (ana) => by(ana)`api.erase_me()`,
      (ana) => by(ana)`api.update_profile('{"name": "Anna", "city": "Faro"}')`,
      (ana) => by(ana)`api.set_interests('{"ids": [1]}')`,
      (ana) => by(ana)`api.set_searchable(true)`,
      (ana) => by(ana)`api.open_conversation(1)`,
    ]
    for (const act of acts) {
      const [ana] = await people(1)
      await expectError(by(ana)`api.erase_me()`, act(ana), gone)
    }
  },
  'of a message that is taken back during the erasure nothing is left': async () => {
    const { ana, talk } = await pair()
    const { id } = await askAs(ana)`api.send_message(${talk}, ${{ content: 'Hello', client_id: crypto.randomUUID() }})`
    await expectError(by(ana)`api.erase_me()`, by(ana)`api.unsend_message(${talk}, ${id}, hours => 24)`, gone)
  },
  'nobody opens a conversation with somebody who is being erased': async () => {
    const [ana, ben] = await people(2)
    await expectError(by(ben)`api.erase_me()`, by(ana)`api.open_conversation(${ben})`, 'PT404 User not found')
  },
  'a name that is changed during the erasure is erased': async () => {
    const [ana] = await people(1)
    await queue(by(ana, 'update users')`api.update_profile('{"name": "Anna"}')`, by(ana)`api.erase_me()`)
    expect(await ask`select name from public.users where id = ${ana}`).toEqual(['Deleted user'])
  },
  'an address that Auth changes during the erasure is erased': async () => {
    const [ana] = await people(1)
    const change = by(null, 'update users')`
      update auth.users set email = gen_random_uuid() || '@races.example'
      where id = (select auth_id from public.users where id = ${ana})`
    await queue(change, by(ana)`api.erase_me()`)
    expect(await ask`select email from public.users where id = ${ana}`).toEqual([''])
  },
  'an offer to somebody who is being erased is cancelled': async () => {
    const { ana, ben, talk } = await pair()
    await queue(by(ana, 'insert reservations')`api.offer_reservation(${talk}, ${walk})`, by(ben)`api.erase_me()`)
    expect(await ask`select status from public.reservations where conversation_id = ${talk}`).toEqual(['cancelled'])
  },
  'nobody accepts an offer of somebody who is blocking them': async () => {
    const { ana, ben, talk } = await pair()
    const accept = step(ben, talk, await offer(talk), 'accept')
    await expectError(by(ana)`api.block_person(${ben})`, accept, 'PT403 You cannot write to this person')
  },
  'what an admin has declined is not cancelled by an erasure': async () => {
    const { ben, talk } = await pair()
    const id = await offer(talk)
    await queue(admin`update public.reservations set status = 'declined' where id = ${id}`, by(ben)`api.erase_me()`)
    const statuses = await ask`select status from public.reservation_history where reservation_id = ${id} order by id`
    expect(statuses).toEqual(['pending', 'declined'])
  },
  'a suspension that is lifted during the erasure is over, and the account erased': async () => {
    const [ana] = await people(1)
    await ask`select public.restrict_person(${ana}, 'suspend', 'Spam')`
    await queue(
      by(null, 'insert search_entries')`public.lift_restriction(${ana}, 'suspend', 'Served')`,
      admin`public.erase_person(${ana}, 'Asked for it')`,
    )
    expect(await ask`select is_active from public.users where id = ${ana}`).toEqual([false])
  },
  'somebody who shows a profile as an admin hides it is hidden': async () => {
    for (const isReported of [true, false]) {
      const [ana, ben] = await people(2)
      await ask`update public.profiles set is_searchable = false where user_id = ${ana}`
      const hide = isReported
        ? admin`public.resolve_report(${await report(ben, ana)}, 'hide', 'Spam')`
        : admin`public.restrict_person(${ana}, 'hide', 'Spam')`
      await queue(by(ana, 'insert search_entries')`api.set_searchable(true)`, hide)
      expect(await ask`select is_searchable from public.profiles where user_id = ${ana}`).toEqual([false])
    }
  },
  'of two reports of one person one is made, and both learn its id': async () => {
    const [ana, ben] = await people(2)
    const send = by(ana)`api.report_person(${{ user_id: ben, reason: 'spam' }})`
    const [first, second] = await queue(send, send)
    expect(second).toEqual(first)
  },
  'people who report and block each other both succeed': async () => {
    const [ana, ben] = await people(2)
    const send = (who: number, whom: number, stop = '') =>
      by(who, stop)`api.report_person(${{ user_id: whom, reason: 'spam', block: true }})`
    const open = { status: 'open' }
    expect(await queue(send(ana, ben, 'insert reports'), send(ben, ana))).toMatchObject([open, open])
  },
  'a report to which messages are added as an admin suspends the person is resolved': async () => {
    const [ana, ben] = await people(2)
    const id = await report(ana, ben)
    await queue(
      by(ana, 'update reports')`api.report_person(${{ user_id: ben, reason: 'spam', share_messages: true }})`,
      admin`public.resolve_report(${id}, 'suspend', 'Spam')`,
    )
    const reports = await ask`select resolution, shares_messages from public.reports where id = ${id}`
    expect(reports).toEqual([{ resolution: 'suspend', shares_messages: true }])
  },
  'of two decisions about a report the second is refused, also after one in the table itself': async () => {
    for (const isEdit of [false, true]) {
      const [ana, ben] = await people(2)
      const id = await report(ana, ben)
      const first = isEdit
        ? admin`update public.reports set resolution = 'dismiss', resolved_at = now() where id = ${id}`
        : admin`public.resolve_report(${id}, 'dismiss', 'Harmless')`
      const refusal = 'PT409 This report was resolved before: dismiss, at 20'
      await expectError(first, admin`public.resolve_report(${id}, 'warn', 'Spam')`, refusal)
    }
  },
})
