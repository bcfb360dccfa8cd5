/** What senders do with their messages afterwards: correct them, and take them back. */
import { asAdmin, equal, idOf, is, iso, type Json, passTime } from './fixture.ts'
import { type Person, refuses, setting, sql, test } from './fixture.ts'
import { block, idsOf, meet, send, unblock, unknown } from './talks.ts'
import { settings, subscribe, work } from './devices.ts'

const file = { url: 'https://files.example/photo.jpg', name: 'photo.jpg', mime_type: 'image/jpeg', size: 12_345 }
const at = (path: string, { id }: Json) => `${path}/messages/${id}`
const unsend = (who: Person, path: string, message: Json, status = 204, error?: string) =>
  who.delete(at(path, message), status, error)
const edit = (who: Person, path: string, message: Json, content: unknown, status = 200, expected?: Json) =>
  who.patch(at(path, message), { content }, status, expected)
const stone = (message: Json) => ({ ...message, content: '', attachment: null, read: true })
const none = { editedAt: null, deletedAt: null }
/** What the feed says of a message, beside that it was sent. */
const changes = ({ id }: Json) =>
  sql(
    `select kind::text, user_id, other_id from private.changes
     where entity_id = $1 and kind::text ~ '^(message|read)' order by id offset 1`,
    [id],
  )
const plan = async (time: string) => {
  await passTime(time)
  await work('plan_notifications(max_rows => 100, push => true, mail => true)')
}

test('a message that is taken back leaves a stone in its place, in every list and for both', async () => {
  const { ana, ben, ab } = await meet()
  const first = await send(ana, ab, 'First')
  const other = await send(ben, ab, 'Other')
  const last = await send(ana, ab, { content: 'Last', attachment: file })
  equal(await unsend(ana, ab, last), null)
  for (const who of [ana, ben]) {
    equal(await who.get(`${ab}/messages`), [stone(last), other, first])
    const stated = await who.get(`${ab}/messages?states=true`)
    equal(stated, [{ ...stone(last), editedAt: null, deletedAt: iso }, { ...other, ...none }, { ...first, ...none }])
    const { id, content, user_id, read, createdAt } = stone(last)
    const shown = { id, content, user_id, read, createdAt }
    equal((await who.get('/conversations'))[0].Messages, [shown])
    const [latest] = await who.get('/conversations?states=true')
    equal(latest.Messages, [{ ...shown, attachment: null, editedAt: null, deletedAt: iso }])
    const { conversations } = await who.get('/users/me/export')
    const exported = conversations.find(({ id }: Json) => id === idOf(ab)).messages
    equal(exported, [first, other, { ...stone(last), editedAt: null, deletedAt: iso }])
  }
  // Again it is the same, also after the time in which it can be done, and says nothing new.
  await passTime('30 hours')
  await unsend(ana, ab, last)
  equal(await changes(last), [['message.changed', ana.id, ben.id]])
})

test('a message that is corrected is the same with another text, and tells when only on request', async () => {
  const { ana, ben, ab } = await meet()
  const sent = await send(ana, ab, { content: 'Helo', attachment: file })
  const corrected = { ...sent, content: '  Hello\n 🚶' }
  const answer = await ana.patch(`${at(ab, sent)}?states=true`, { content: corrected.content })
  equal(answer, { ...corrected, editedAt: iso, deletedAt: null })
  equal(await edit(ana, ab, sent, corrected.content), corrected)
  for (const who of [ana, ben]) {
    equal(await who.get(`${ab}/messages`), [corrected])
    equal(await who.get(`${ab}/messages?states=true`), [answer])
    equal((await who.get('/conversations?states=true'))[0].Messages[0].attachment, file)
  }
  equal(await changes(sent), [['message.changed', ana.id, ben.id]], 'the same text again changes nothing')
  // Only beside a file the text may be blank.
  await edit(ana, ab, sent, ' \u3000', 200, { content: ' \u3000' })
  const bare = await send(ana, ab, 'Bare')
  for (const content of ['', ' \u3000', 'é'.repeat(5001)]) await edit(ana, ab, bare, content, 400, 'content')
  await edit(ana, ab, bare, '🚶'.repeat(5000))
  await unsend(ana, ab, bare)
  await edit(ana, ab, bare, 'Back', 409, 'This message was taken back')
})

test('only the sender does either, and everybody else gets the answer of a message that there is not', async () => {
  const { ana, ben, ab, ca } = await meet()
  const sent = await send(ana, ab, 'Mine')
  const refused = async (who: Person, path: string, id: number) => {
    equal(await unsend(who, path, { id }, 404), { error: 'Message not found' })
    equal(await edit(who, path, { id }, 'Yours', 404), { error: 'Message not found' })
  }
  await refused(ben, ab, sent.id)
  for (const id of unknown) await refused(ana, ab, id)
  await refused(ana, ca, sent.id)
  equal(await ben.get(`${ab}/messages`), [sent])
})

test('each has its time, which is a setting; what was done in time stays', async () => {
  const { ana, ab } = await meet()
  const [first, second] = [await send(ana, ab, 'First'), await send(ana, ab, 'Second')]
  const late = ['This message cannot be corrected any more', 'This message cannot be taken back any more'] as const
  await passTime('14 minutes')
  await edit(ana, ab, first, 'In time')
  await passTime('15 minutes 1 second')
  await edit(ana, ab, first, 'Late', 403, late[0])
  await edit(ana, ab, first, 'In time')
  setting('EDIT_MINUTES', '16')
  await edit(ana, ab, first, 'Later')
  await passTime('23 hours 59 minutes')
  await unsend(ana, ab, first)
  await passTime('24 hours 1 second')
  await unsend(ana, ab, second, 403, late[1])
  setting('UNSEND_HOURS', '25')
  await unsend(ana, ab, second)
  for (const name of ['UNSEND_HOURS', 'EDIT_MINUTES']) setting(name, '0')
  await passTime('0')
  const third = await send(ana, ab, 'Third')
  await edit(ana, ab, third, 'Never', 403, late[0])
  await unsend(ana, ab, third, 403, late[1])
})

test('what is taken back is not unread any more; what is corrected stays as read as it was', async () => {
  const { ana, ben, ab } = await meet()
  const unread = async (count: number) => {
    const conversations = count > 0 ? [{ conversation_id: idOf(ab), unread: count }] : []
    equal(await ben.get('/conversations/unread'), { total: count, conversations })
  }
  const [first, second, third] = [await send(ana, ab, '1'), await send(ana, ab, '2'), await send(ana, ab, '3')]
  await unread(3)
  await unsend(ana, ab, third)
  await unsend(ana, ab, third)
  await unread(2)
  await ben.patch(`${at(ab, first)}/read`, undefined, 200)
  await edit(ana, ab, first, '1!', 200, { read: true })
  await edit(ana, ab, second, '2!', 200, { read: false })
  await unread(1)
  await unsend(ana, ab, first)
  await unread(1)
  // Nobody is told that somebody has read what was taken back.
  equal((await changes(third)).length, 1)
  await ben.post(`${ab}/read`, { up_to_message_id: third.id }, 200)
  await unread(0)
})

test('across a block words are taken back and not corrected, and the other side is told of neither', async () => {
  const { ana, ben, cat, ab, ca } = await meet()
  const [first, second] = [await send(ana, ab, 'First'), await send(ana, ab, 'Second')]
  await block(ben, ana)
  await edit(ana, ab, first, 'Worse', 403, 'You cannot write to this person')
  await edit(ana, ab, first, 'First')
  await unsend(ana, ab, first)
  equal(await changes(first), [['message.changed', ana.id, null]])
  equal((await ben.get(`${ab}/messages`)).map(({ content }: Json) => content), ['Second', ''])
  await unblock(ben, ana)
  await edit(ana, ab, second, 'Better')
  const toCat = await send(ana, ca, 'Hello')
  await cat.delete('/users/me')
  await edit(ana, ca, toCat, 'Bye', 403, 'You cannot write to this person')
  await unsend(ana, ca, toCat)
})

test('a key of a message that has changed since gives what is left of it, and creates nothing', async () => {
  const { ana, ab, ca } = await meet()
  const draft = (content: string) => ({ content, client_id: crypto.randomUUID() })
  const [one, two] = [draft('One'), draft('Two')]
  const [first, second] = [await send(ana, ab, one), await send(ana, ab, two)]
  await unsend(ana, ab, first)
  await edit(ana, ab, second, 'Too')
  const replay = async (sent: Json, expected: Json) => {
    const answer = await ana.ask('POST', `${ab}/messages`, sent)
    equal([answer.status, answer.headers.get('Idempotency-Replayed')], [201, 'true'])
    equal(answer.body, expected)
  }
  await replay(one, stone(first))
  await replay(two, { ...second, content: 'Too' })
  await send(ana, ca, two, 422)
  for (const { client_id } of [one, two]) await send(ana, ab, { content: 'Other', client_id }, 422)
  equal(idsOf(await ana.get(`${ab}/messages`)), [second.id, first.id])
})

// That evidence is a copy is in reports.rules.ts.
test('a stone can be reported, without its words', async () => {
  const { ana, ben, ab } = await meet()
  const message = await send(ana, ab, 'Rude')
  await unsend(ana, ab, message)
  const { id } = await ben.post('/users/me/reports', { message_id: message.id, reason: 'harassment' }, 201)
  equal(await asAdmin(`select message_id, content from public.read_evidence(${id})`), [[message.id, '']])
})

test('nobody is pushed or mailed what was taken back, nor counted as unread; a correction is quoted', async () => {
  const { ana, ben, ab } = await meet()
  await subscribe(ben)
  await ben.patch(settings, { previews: true })
  const [first, second, third] = [await send(ana, ab, '1'), await send(ana, ab, '2'), await send(ana, ab, '3')]
  await unsend(ana, ab, third)
  await edit(ana, ab, second, 'Two')
  await plan('11 minutes')
  await unsend(ana, ab, first)
  is(await work("claim_pushes(9, '[]')"), [{ data: { text: 'Two', unread: 1, id: second.id } }])
  is(await work("claim_mail('[]')"), { conversations: [{ text: 'Two', unread: 1 }] })
  const fourth = await send(ana, ab, '4')
  await sql('delete from private.silences')
  await sql('delete from private.outbox')
  await unsend(ana, ab, second)
  await plan('22 minutes')
  const fifth = await send(ana, ab, '5')
  await plan('33 minutes')
  for (const message of [fourth, fifth]) await unsend(ana, ab, message)
  is([await work("claim_pushes(9, '[]')"), await work("claim_mail('[]')")], [[], null])
  // Of a reservation's step a stone after it does not say that it was seen.
  const offer = { title: 'A walk', price: 1, date: '2036-01-01T10:00:00Z' }
  await ana.post(`${ab}/reservations`, offer, 201)
  await unsend(ana, ab, await send(ana, ab, '6'))
  await plan('44 minutes')
  is((await work("claim_pushes(9, '[]')")).map(({ data }: Json) => data.type), ['reservation.changed'])
})

test('what was taken back counts as a first message', async () => {
  const { ana, ab } = await meet()
  setting('FIRST_CONTACT_LIMIT', '2')
  const [first] = [await send(ana, ab, 'First'), await send(ana, ab, 'Second')]
  await unsend(ana, ab, first)
  await send(ana, ab, 'Third', 403, 'until this person has answered')
})

test('an admin writes no words onto a stone, and makes none of a message that keeps its words', async () => {
  const { ana, ab } = await meet()
  const [first, second] = [await send(ana, ab, 'First'), await send(ana, ab, 'Second')]
  await unsend(ana, ab, first)
  await refuses('23514', '"a message says something or carries an attachment"', [
    `update public.messages set content = 'Back' where id = ${first.id}`,
    `update public.messages set deleted_at = now() where id = ${second.id}`,
  ], 'service_role')
})
