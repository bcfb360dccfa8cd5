// The X-Error-Code of refusals of one status that mean different things. tests/http/protocol.test.ts has the others.
import { beforeAll, expect, test } from 'vitest'
import { type Answer, asAdmin, openConversation, type Person, signUp } from '../tools/people.ts'

const ahead = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
const expectCode = async (answer: Promise<Answer>, code: string) => {
  const { status, headers, text } = await answer
  expect(`${status} ${headers.get('X-Error-Code')}`, text).toBe(code)
}

let ana: Person
let ben: Person
let conversation: number
beforeAll(async () => {
  ana = await signUp('Ana')
  ben = await signUp('Ben')
  conversation = await openConversation(ana, ben)
})

const open = (one: Person, other: Person) => one.call('POST', '/conversations', { other_user_id: other.id })
const send = (sender: Person, id: number, body: object = { content: 'Hello' }) =>
  sender.call('POST', `/conversations/${id}/messages`, body)
const offer = (sender: Person, id: number, fields: object = {}) => {
  const stay = { title: 'A night', price: 40, date: ahead(24), ends_at: ahead(48) }
  return sender.call('POST', `/conversations/${id}/reservations`, { ...stay, ...fields })
}

test('a conversation that is open and a key that was used', async () => {
  await expectCode(open(ben, ana), '409 already_open')
  const client_id = crypto.randomUUID()
  await expectCode(send(ana, conversation, { content: 'One', client_id }), '201 null')
  await expectCode(send(ana, conversation, { content: 'Two', client_id }), '422 key_reused')
})

test('only who has blocked somebody reads blocked', async () => {
  const [cleo, dana, other] = [await signUp('Cleo'), await signUp('Dana'), await signUp('Other')]
  const id = await openConversation(cleo, dana)
  for (const person of [dana, other]) await cleo.call('PUT', `/users/me/blocks/${person.id}`)
  for (const refused of [send(cleo, id), offer(cleo, id), open(cleo, other)]) await expectCode(refused, '403 blocked')
  for (const refused of [send(dana, id), offer(dana, id), open(other, cleo)]) await expectCode(refused, '403 forbidden')
})

test('a full list, a hidden profile and a deactivated caller', async () => {
  const person = await signUp('Person')
  const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) }
  const register = (n: number) =>
    person.call('PUT', `/users/me/devices/${crypto.randomUUID()}`, { endpoint: `https://push.example.com/${n}`, keys })
  for (let n = 0; n < 10; n++) await expectCode(register(n), '204 null')
  await expectCode(register(10), '400 too_many')
  await asAdmin('POST', 'rpc/restrict_person', { person: person.id, restriction: 'hide', note: 'A test' })
  await expectCode(person.call('PATCH', '/users/searchable', { is_searchable: true }), '403 hidden')
  await asAdmin('PATCH', `users?id=eq.${person.id}`, { is_active: false })
  await expectCode(person.call('GET', '/users/me'), '403 deactivated')
})

test('an old offer, a second stay at once, and a step that is not possible', async () => {
  const step = async (title: string, name: string, revision: number, fields: object = {}) => {
    const { body } = await offer(ana, conversation, { title, ...fields })
    return await ben.call('POST', `/conversations/${conversation}/reservations/${body.id}/${name}`, { revision })
  }
  await expectCode(step('One', 'accept', 2), '409 stale_revision')
  await expectCode(step('Two', 'accept', 1), '200 null')
  await expectCode(step('Three', 'accept', 1), '409 overlap')
  await expectCode(step('Four', 'complete', 1, { ends_at: null }), '409 conflict')
})
