/** First contact: how much reaches somebody who has not answered yet, and what is seen of them. */
import { asAdmin, equal, idOf, is, people, type Person, setting, talk, test } from './fixture.ts'
import { block, meet as meetFirst, send, unblock } from './talks.ts'

const draft = { title: 'A walk', price: 1, date: '2036-01-01T10:00:00Z' }
const limited = { error: 'You can send 3 messages or offers until this person has answered' }
const offer = async (who: Person, path: string): Promise<string> =>
  `${path}/reservations/${(await who.post(`${path}/reservations`, draft, 201)).id}`
const times = async (count: number, action: () => Promise<unknown>) => {
  for (let time = 0; time < count; time++) await action()
}
/** As in other rules; three messages or offers are the limit. */
const meet = () => {
  setting('FIRST_CONTACT_LIMIT', '3')
  return meetFirst()
}

test('without the setting there is no limit', async () => {
  const { ana, ben, ab } = await meetFirst()
  await times(6, () => send(ana, ab))
  setting('FIRST_CONTACT_LIMIT', '3')
  equal(await send(ana, ab, 'Hello', 403), limited, 'a conversation from before has it as well')
  await send(ben, ab)
  await send(ana, ab)
})

test('the fourth message is refused, whatever its key, and an earlier one is repeated', async () => {
  const { ana, ben, ab, ca } = await meet()
  const key = crypto.randomUUID()
  const first = await send(ana, ab, { content: 'Hello', client_id: key })
  await times(2, () => send(ana, ab))
  // The field is the function's own: a caller cannot set it.
  for (const fields of [{}, { client_id: crypto.randomUUID() }, { first_contact_limit: null }]) {
    const { status, body, headers } = await ana.ask('POST', `${ab}/messages`, { content: 'Hello', ...fields })
    equal([status, body, headers.get('X-Error-Code')], [403, limited, 'first_contact_limit'])
  }
  equal(await send(ana, ab, { content: 'Hello', client_id: key }), first)
  await send(ana, ab, { content: 'Another', client_id: key }, 422)
  is((await ben.get(`${ab}/messages`)).length, 3)
  await times(3, () => send(ana, ca))
  // Whoever has reached the limit does not learn of a block.
  await block(ben, ana)
  equal(await send(ana, ab, 'Hello', 403), limited)
  await unblock(ben, ana)
  await send(ben, ab)
  for (const who of [ana, ben]) await times(5, () => send(who, ab))
  await block(ben, ana)
  const { status, body, headers } = await ana.ask('POST', `${ab}/messages`, { content: 'Hello' })
  equal([status, body, headers.get('X-Error-Code')], [403, { error: 'You cannot write to this person' }, 'forbidden'])
})

test('until there is an answer a message can be corrected once', async () => {
  const { ana, ben, ab } = await meet()
  const { id } = await send(ana, ab)
  const correct = (content: string, status = 200) => ana.patch(`${ab}/messages/${id}`, { content }, status)
  await correct('Hallo')
  equal(await correct('Buy this', 403), { error: 'You can correct a message once until this person has answered' })
  await correct('Hallo')
  setting('FIRST_CONTACT_LIMIT', 'off')
  await correct('Hello again')
  setting('FIRST_CONTACT_LIMIT', '3')
  await send(ben, ab)
  await correct('Hello, Ben')
})

test('the local may write first, within the limit of the setting', async () => {
  const { ana, ben, ab } = await meet()
  await times(3, () => send(ben, ab))
  equal(await send(ben, ab, 'Hello', 403), limited)
  setting('FIRST_CONTACT_LIMIT', '4')
  await send(ben, ab)
  setting('FIRST_CONTACT_LIMIT', '1')
  equal(await send(ben, ab, 'Hello', 403), { error: 'You can send 1 message or offer until this person has answered' })
  await send(ana, ab)
  await asAdmin('delete from public.messages where user_id = $1', [ana.id])
  await send(ben, ab)
})

test('an answer lifts the limit for ever, whatever admins delete; another participant has not answered', async () => {
  const { ana, ben, cat, dan, ab, ca } = await meet()
  await times(3, () => send(ana, ab))
  await asAdmin('delete from public.messages where id = (select max(id) from public.messages)')
  await send(ana, ab)
  equal(await send(ana, ab, 'Hello', 403), limited, 'nobody has answered')
  await send(ben, ab)
  await asAdmin('delete from public.messages where user_id = $1', [ben.id])
  await times(2, () => send(ana, ab))
  await asAdmin('delete from public.messages')
  await times(5, () => send(ana, ab))
  await asAdmin('update public.conversations set local_id = $1 where id = $2', [dan.id, idOf(ab)])
  equal(await send(ana, ab, 'Hello', 403), limited)
  // What an admin writes as theirs, or changes to theirs, is an answer.
  await asAdmin('update public.messages set user_id = $1 where id = (select min(id) from public.messages)', [dan.id])
  await send(ana, ab)
  await times(3, () => send(ana, ca))
  await send(cat, await talk(cat, ben))
  equal(await send(ana, ca, 'Hello', 403), limited, 'cat has answered somebody else')
  await asAdmin(`insert into public.messages (conversation_id, user_id, content) values (${idOf(ca)}, ${cat.id}, 'x')`)
  await send(ana, ca)
})

test('whatever reaches the other counts: messages, offers, changed offers and notes', async () => {
  const { ana, ben, ab } = await meet()
  const [it, other] = [await offer(ana, ab), await offer(ana, ab)]
  await ana.post(`${other}/cancel`, {}, 200)
  await ana.patch(it, { revision: 1, price: 2 })
  equal(await send(ana, ab, 'Hello', 403), limited)
  equal(await ana.post(`${ab}/reservations`, draft, 403), limited)
  equal(await ana.patch(it, { revision: 2, price: 3 }, 403), limited)
  // What changes nothing reaches nobody. An offer can be withdrawn, and its note reaches nobody.
  await ana.patch(it, { revision: 2, price: 2 })
  await ana.post(`${it}/cancel`, { note: 'Beyond it' }, 200)
  is((await ben.get(it)).history.at(-1), { status: 'cancelled', note: null })
  equal(await send(ana, ab, 'Hello', 403), limited, 'a withdrawn offer has reached ben all the same')
})

test('a note within the limit counts; to decline, accept or offer is an answer, to cancel is none', async () => {
  const { ana } = await meet()
  for (const step of ['decline', 'accept', 'offer', 'cancel']) {
    const [partner] = await people(step)
    const path = await talk(ana, partner)
    const [one, two] = [await offer(ana, path), await offer(ana, path)]
    await ana.post(`${one}/cancel`, { note: 'Within it' }, 200)
    is((await partner.get(one)).history.at(-1), { note: 'Within it' })
    equal(await send(ana, path, 'Hello', 403), limited)
    if (step === 'offer') await offer(partner, path)
    else await partner.post(`${two}/${step}`, { revision: 1 }, 200)
    await send(ana, path, 'Hello', step === 'cancel' ? 403 : 201)
  }
})

test("no answer has the partner's address before they have written", async () => {
  setting('PARTNER_EMAIL', 'after_reply')
  const { ana, ben, ab } = await meet()
  await send(ana, ab)
  await ben.patch('/users/searchable', { is_searchable: true })
  const it = await offer(ana, ab)
  await block(ana, ben)
  // deno-fmt-ignore
  const paths = [
    '/conversations', ab, `${ab}/messages`, '/conversations/states', '/users/me/reservations', it, '/users/me/blocks',
    '/users/me/export', '/users/me/reports', `/users/${ben.profileId}`, '/users/search?q=ben&explain=true',
  ]
  const answers = [
    await ana.ask('POST', '/users/me/reports', { user_id: ben.id, reason: 'other' }),
    await ana.ask('POST', '/conversations', { other_user_id: ben.id }),
  ]
  for (const path of paths) answers.push(await ana.ask('GET', path))
  for (const { status, text } of answers) {
    is([[200, 201, 409].includes(status), text.includes('ben@tests.example')], [true, false], text)
  }
  await unblock(ana, ben)
  await send(ben, ab)
  is((await ana.ask('GET', '/conversations')).text.includes('ben@tests.example'), true)
})
