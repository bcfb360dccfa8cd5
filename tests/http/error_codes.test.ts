import { beforeAll, expect, test } from 'vitest'
import { type Answer, asAdmin, call, openConversation, type Person, signUp } from '../tools/people.ts'

const codeOf = ({ status, headers }: Answer) => `${status} ${headers.get('X-Error-Code')}`
const ahead = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()

let ana: Person
let ben: Person
let conversation: number
beforeAll(async () => {
  ana = await signUp('Ana')
  ben = await signUp('Ben')
  conversation = await openConversation(ana, ben)
})

const send = (sender: Person, id = conversation, body: object = { content: 'Hello' }) =>
  sender.call('POST', `/conversations/${id}/messages`, body)
const offer = (sender: Person, id: number, fields: object = {}) =>
  sender.call('POST', `/conversations/${id}/reservations`, {
    ...{ title: 'A night', price: 40, date: ahead(24), ends_at: ahead(48) },
    ...fields,
  })

test('an answer without an error has no code', async () => {
  expect(codeOf(await ana.call('GET', '/users/me'))).toBe('200 null')
})

test('errors of every status have their code', async () => {
  const raw = (type: string, body: string) =>
    call('POST', '/auth/login', undefined, { raw: body, headers: { 'Content-Type': type } })
  const key = crypto.randomUUID()
  await send(ana, conversation, { content: 'One', client_id: key })
  const answers: [string, Answer][] = [
    ['400 invalid', await raw('application/json', '{')],
    ['401 unauthorized', await call('GET', '/users/me')],
    ['401 unauthorized', await call('GET', '/users/me', undefined, { token: `${ana.token}x` })],
    ['401 unauthorized', await call('POST', '/auth/refresh', { refresh_token: 'x' })],
    ['401 invalid_credentials', await call('POST', '/auth/login', { email: ana.email, password: 'wrong horse' })],
    ['403 not_public', await call('GET', `/users/${(await signUp('Shy')).profileId}`)],
    ['404 not_found', await ana.call('GET', '/conversations/999999999')],
    ['404 not_found', await call('GET', '/nothing')],
    ['405 method_not_allowed', await call('PUT', '/users/me')],
    ['409 already_open', await ben.call('POST', '/conversations', { other_user_id: ana.id })],
    ['409 email_taken', await call('POST', '/users', { email: ana.email, name: 'Ana' })],
    ['413 too_large', await raw('application/json', `"${'x'.repeat(102_400)}"`)],
    ['415 unsupported_media_type', await raw('text/plain', '{}')],
    ['422 key_reused', await send(ana, conversation, { content: 'Two', client_id: key })],
  ]
  for (const [code, answer] of answers) expect(codeOf(answer)).toBe(code)
})

test('only who has blocked somebody reads blocked', async () => {
  const [cleo, dana] = [await signUp('Cleo'), await signUp('Dana')]
  const id = await openConversation(cleo, dana)
  const other = await signUp('Other')
  for (const person of [dana, other]) await cleo.call('PUT', `/users/me/blocks/${person.id}`)
  const attempts = (person: Person, partner: Person) =>
    Promise.all([
      ...person === other || partner === other
        ? [person.call('POST', '/conversations', { other_user_id: partner.id })]
        : [send(person, id), offer(person, id)],
    ])
  for (const answer of [...await attempts(cleo, dana), ...await attempts(cleo, other)]) {
    expect(codeOf(answer)).toBe('403 blocked')
  }
  for (const answer of [...await attempts(dana, cleo), ...await attempts(other, cleo)]) {
    expect(codeOf(answer)).toBe('403 forbidden')
  }
})

test('a deactivated caller, a hidden profile and a full list have codes of their own', async () => {
  const person = await signUp('Person')
  for (let n = 0; n < 10; n++) expect((await register(person)).status).toBe(204)
  expect(codeOf(await register(person))).toBe('400 too_many')
  await asAdmin('POST', 'rpc/restrict_person', { person: person.id, restriction: 'hide', note: 'A test' })
  expect(codeOf(await person.call('PATCH', '/users/searchable', { is_searchable: true }))).toBe('403 hidden')
  await asAdmin('PATCH', `users?id=eq.${person.id}`, { is_active: false })
  expect(codeOf(await person.call('GET', '/users/me'))).toBe('403 deactivated')
})

const register = (person: Person) =>
  person.call('PUT', `/users/me/devices/${crypto.randomUUID()}`, {
    endpoint: `https://push.example.com/${crypto.randomUUID()}`,
    keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
  })

test('a step that is not possible is a conflict, and a second stay at once an overlap', async () => {
  const path = `/conversations/${conversation}/reservations`
  const accept = async (title: string) => {
    const { body } = await offer(ana, conversation, { title })
    return await ben.call('POST', `${path}/${body.id}/accept`, { revision: body.revision })
  }
  expect((await accept('One')).status).toBe(200)
  expect(codeOf(await accept('Two'))).toBe('409 overlap')
  const { body } = await offer(ana, conversation, { title: 'Three', ends_at: null })
  expect(codeOf(await ana.call('POST', `${path}/${body.id}/decline`))).toBe('409 conflict')
})
