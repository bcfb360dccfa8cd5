/**
 * The local Data API answers as PostgREST: what its documentation says (docs.postgrest.org, "References"), or where it
 * is silent its own tests (PostgREST/postgrest, test/spec/Feature).
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { databaseErrorResponse } from '../../supabase/local/postgrest.ts'
import { call, openConversation, type Person, signUp } from '../tools/people.ts'

const { origin, publishableKey, secretKey } = inject('stack')
const run = `Fact ${process.pid}.${Date.now()}`
const facts = `interests?name=like.${run}*`
let person: Person
let conversation: number

const send = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
  call(method, `${origin}/rest/v1/${path}`, body, { headers: { apikey: secretKey, ...headers } })

const five = [1, 2, 3, 4, 5].map((place) => ({ name: `${run} ${place}` }))
const stay = { title: 'Loft', price: 12.5, date: '2036-01-01', status: 'pending' }

beforeAll(async () => {
  person = await signUp('Ana')
  conversation = await openConversation(person, await signUp('Ben'))
  await send('POST', 'interests', {}, five)
  await send('POST', 'reservations', {}, { ...stay, conversation_id: conversation })
})
afterAll(() => send('DELETE', facts))

describe('errors.rst: the status of an error of the database', () => {
  test.each(Object.entries({
    400: '0A000 22003 22P02 23001 23502 23514 23P01 26000 2BP01 3D000 42601 42703 42P10 P0001',
    403: '0L000 0P000 28000',
    404: '42P01 42883',
    405: '25006',
    409: '23503 23505',
    500: '09000 25001 2D000 38001 39000 3B000 40001 42P17 53400 54001 55000 55P03 57014 58030 F0000 HV000 P0002 XX000',
    503: '08006 53000 53300 57P01',
  }))('%i: %s', (status, codes) => {
    const expected = codes.split(' ')
    const errors = expected.map((code) => Object.assign(new Error('No'), { code, severity: 'ERROR' }))
    const found = errors.filter((error) => databaseErrorResponse(error)?.status === Number(status))
    expect(found.map(({ code }) => code)).toEqual(expected)
  })

  test('and its body', async () => {
    const error = Object.assign(new Error('No'), { code: 'P0001', detail: 'Since', hint: 'Do' })
    const response = databaseErrorResponse(error)!
    expect(await response.json()).toEqual({ code: 'P0001', details: 'Since', hint: 'Do', message: 'No' })
    expect(databaseErrorResponse(new TypeError('Ours'))).toBeNull()
  })
})

/** Where it stands, the request, and its answer: status, body or text, and some headers. */
type Fact = [
  source: string,
  request: Parameters<typeof send>,
  status: number,
  answer?: unknown,
  headers?: { range?: string; type?: string },
]
const text = expect.any(String)
const error = (code: string, rest: object = {}) => ({ details: null, hint: null, message: text, code, ...rest })
const names = (...places: number[]) => places.map((place) => five[place - 1])
const outOfRange = (details: string) => error('PGRST103', { message: 'Requested range not satisfiable', details })
const notSingle = (rows: number) =>
  error('PGRST116', {
    message: 'Cannot coerce the result to a single JSON object',
    details: `The result contains ${rows} rows`,
  })
const json = 'application/json; charset=utf-8'
const object = 'application/vnd.pgrst.object+json'
const full = 'return=representation'

/** One after the other: some change what later ones read. A text is the whole body. */
const table = (): Fact[] => {
  const rows = `${facts}&select=name&order=name`
  const price = `reservations?conversation_id=eq.${conversation}`
  const talk = `conversations?id=eq.${conversation}`
  const anonymous = { apikey: publishableKey }
  const user = { ...anonymous, Authorization: `Bearer ${person.token}` }
  const liked = { profile_id: person.profileId, interest_id: 1 }
  const details = { details: text }
  const prefer = (...values: string[]) => ({ Prefer: values.join(', ') })
  const as = (Accept: string) => ({ Accept })
  // deno-fmt-ignore
  return [
    ['errors.rst', ['POST', 'interests', {}, { name: '' }], 400,
      error('23514', { details: expect.stringMatching(/^Failing row contains/) }), { type: json }],
    ['errors.rst', ['POST', 'interests', {}, { name: null }], 400, error('23502', details)],
    ['errors.rst', ['POST', 'interests', {}, five[0]], 409,
      error('23505', { details: expect.stringMatching(/already exists/) })],
    ['errors.rst', ['POST', 'profile_interests', {}, { ...liked, profile_id: 0 }], 409, error('23503', details)],
    ['errors.rst', ['POST', 'reservations', {}, { ...stay, conversation_id: conversation, price: -1 }], 400,
      error('23514', details)],
    ['errors.rst', ['GET', 'interests?id=eq.many'], 400, error('22P02')],
    ['errors.rst', ['GET', 'interests?select=title'], 400, error('42703')],
    ['errors.rst', ['POST', 'moderation_queue', {}, { person: 'x' }], 500, error('55000', { ...details, hint: text })],
    ['errors.rst', ['GET', 'users', anonymous], 401, error('42501')],
    ['errors.rst', ['POST', 'interests', user, five[0]], 403, error('42501')],
    ['errors.rst', ['GET', 'interest'], 404,
      error('PGRST205', { hint: "Perhaps you meant the table 'public.interests'" })],
    ['errors.rst', ['POST', 'rpc/nothing', {}, {}], 404, error('PGRST202', details)],
    ['errors.rst', ['GET', 'interests?select=*,messages(*)'], 400, error('PGRST200', details)],
    ['errors.rst', ['GET', 'users?select=id,conversations(id)'], 300,
      error('PGRST201', { details: expect.any(Array), hint: text })],
    ['errors.rst', ['GET', 'interests?id=1'], 400, error('PGRST100', details)],
    ['errors.rst', ['POST', 'interests', {}, { title: 'x' }], 400, error('PGRST204')],
    ['errors.rst', ['BREW', 'interests'], 405, error('PGRST117')],
    ['errors.rst', ['GET', 'interests', as('application/xml')], 406, error('PGRST107')],
    ['errors.rst', ['GET', 'interests', { 'Accept-Profile': 'private' }], 406, error('PGRST106', { hint: text })],
    ['errors.rst', ['POST', 'rpc/get_me', { 'Content-Profile': 'api' }, {}], 406, error('PGRST106', { hint: text })],
    ['aggregate_functions.rst', ['GET', 'interests?select=id.max()'], 400, error('PGRST123')],
    // Pages and counts
    ['pagination_count.rst', ['GET', `${rows}&limit=2`], 200, names(1, 2), { range: '0-1/*' }],
    ['pagination_count.rst', ['GET', `${rows}&limit=2&offset=3`, prefer('count=exact')], 206, names(4, 5),
      { range: '3-4/5' }],
    ['pagination_count.rst', ['GET', rows, { Range: '1-2', 'Range-Unit': 'items', ...prefer('count=exact') }], 206,
      names(2, 3), { range: '1-2/5' }],
    ['pagination_count.rst', ['GET', rows, { Range: '3-' }], 200, names(4, 5), { range: '3-4/*' }],
    ['pagination_count.rst', ['GET', `${rows}.desc`, { Range: '0-9', ...prefer('count=exact') }], 200,
      names(5, 4, 3, 2, 1), { range: '0-4/5' }],
    ['pagination_count.rst', ['HEAD', `${rows}&limit=2`, prefer('count=exact')], 206, '', { range: '0-1/5' }],
    ['RangeSpec.hs', ['GET', `${facts}&limit=0`], 200, [], { range: '*/*' }],
    ['RangeSpec.hs', ['GET', `${facts}&limit=-1`], 416,
      outOfRange('Limit should be greater than or equal to zero.')],
    ['RangeSpec.hs', ['GET', `${facts}&offset=9`], 200, [], { range: '*/*' }],
    ['RangeSpec.hs', ['GET', `${facts}&offset=9`, prefer('count=exact')], 416,
      outOfRange('An offset of 9 was requested, but there are only 5 rows.'), { range: '*/5' }],
    ['RangeSpec.hs', ['GET', facts, { Range: '4-1' }], 416,
      outOfRange('The lower boundary must be lower than or equal to the upper boundary in the Range header.')],
    // One object
    ['resource_representation.rst', ['GET', `${rows}&limit=1`, as(object)], 200, five[0],
      { type: `${object}; charset=utf-8` }],
    ['resource_representation.rst', ['GET', 'interests?id=eq.0', as(object)], 406, notSingle(0)],
    ['SingularSpec.hs', ['DELETE', facts, { ...as(object), ...prefer(full) }], 406, notSingle(5)],
    ['SingularSpec.hs', ['DELETE', facts, { ...as(object), ...prefer('max-affected=9') }], 406, notSingle(5)],
    ['SingularSpec.hs', ['PATCH', price, { ...as(object), ...prefer(full) }, { price: 12.5 }], 200,
      expect.objectContaining({ price: 12.5 })],
    ['SingularSpec.hs', ['GET', facts, prefer('count=exact')], 200, undefined, { range: '0-4/5' }],
    // Preferences
    ['preferences.rst', ['GET', 'interests', prefer('handling=strict', 'foo', 'bar')], 400, error('PGRST122', {
      message: 'Invalid preferences given with handling=strict', details: 'Invalid preferences: foo, bar' })],
    ['preferences.rst', ['GET', `${facts}&limit=1`, prefer('handling=lenient', 'foo')], 200, undefined],
    ['preferences.rst', ['DELETE', facts, prefer('handling=strict', 'max-affected=2')], 400,
      error('PGRST124', { details: 'The query affects 5 rows' })],
    ['preferences.rst',
      ['PATCH', `${rows}&id=eq.0`, { Prefer: 'handling=strict,max-affected=2' }, { name: 'x' }], 204, undefined,
      { range: '*/*' }],
    ['preferences.rst', ['POST', 'interests', {}, { name: `${run} 6` }], 201, '',
      { range: '*/*' }],
    ['preferences.rst', ['POST', 'interests?select=name', prefer(full), { name: `${run} 7` }], 201,
      [{ name: `${run} 7` }]],
    ['preferences.rst',
      ['POST', 'interests?columns=name&select=name', prefer('missing=default', full), [{ name: `${run} 8`, id: 1 }]],
      201, [{ name: `${run} 8` }]],
    // db-tx-end is off on the platform.
    ['preferences.rst', ['POST', 'interests', { Prefer: 'tx=rollback,return=minimal' }, { name: `${run} 9` }], 201,
      undefined],
    ['preferences.rst', ['GET', `${rows}&name=like.*9`], 200, [{ name: `${run} 9` }]],
    ['InsertSpec.hs', ['POST', 'interests', {}, [{ name: 'x' }, { name: 'y', id: 1 }]], 400,
      error('PGRST102', { message: 'All object keys must match' })],
    ['InsertSpec.hs', ['POST', 'interests', prefer(full), []], 201, []],
    ['UpdateSpec.hs', ['PATCH', `${rows}&id=eq.0`, prefer(full), { name: 'x' }], 200, [],
      { range: '*/*' }],
    ['UpsertSpec.hs',
      ['POST', 'profile_interests?select=interest_id', prefer('resolution=merge-duplicates', full), liked], 201,
      [{ interest_id: 1 }]],
    ['UpsertSpec.hs', ['POST', 'profile_interests', prefer('resolution=ignore-duplicates', full), liked], 201, []],
    ['DeleteSpec.hs', ['DELETE', `${rows}&name=like.*9`, prefer(full, 'count=exact')], 200, [{ name: `${run} 9` }],
      { range: '*/1' }],
    ['DeleteSpec.hs', ['DELETE', `${facts}&name=like.*8`], 204, '', { range: '*/*' }],
    // Embedding
    ['resource_embedding.rst',
      ['GET', `${talk}&select=voyager:users!conversations_voyager_id_fkey(name),local:users!local_id(name)`], 200,
      [{ voyager: { name: 'Ana' }, local: { name: 'Ben' } }]],
    ['resource_embedding.rst',
      ['GET', `profiles?id=eq.${person.profileId}&select=...users(name),interests(id)`], 200,
      [{ name: 'Ana', interests: [{ id: 1 }] }]],
    ['resource_embedding.rst', ['GET', `${talk}&select=id,reservations!inner(id)&reservations.price=gt.9999`], 200, []],
    ['resource_embedding.rst', ['GET', `${talk}&select=reservations(title)&reservations.limit=0`], 200,
      [{ reservations: [] }]],
  ]
}

test('every fact holds', async () => {
  for (const [source, request, status, answer, headers = {}] of table()) {
    const got = await send(...request)
    const of = { range: 'Content-Range', type: 'Content-Type' }
    const shown = Object.keys(headers).map((name) => [name, got.headers.get(of[name as keyof typeof of])])
    const body = answer === undefined ? undefined : typeof answer === 'string' ? got.text : got.body
    expect.soft({ source, request, status: got.status, body, ...Object.fromEntries(shown) })
      .toEqual({ source, request, status, body: answer, ...headers })
  }
})
