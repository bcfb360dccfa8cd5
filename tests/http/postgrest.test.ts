/**
 * The local Data API answers as PostgREST: what its documentation says (docs.postgrest.org, "References"), or where it
 * is silent its own tests (PostgREST/postgrest, test/spec/Feature).
 */
import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
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
const full = { Prefer: 'return=representation' }
const single = { Accept: 'application/vnd.pgrst.object+json' }

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

interface Expected {
  status: number
  range?: string
  applied?: string | null
  type?: string | null
  body?: unknown
  text?: string | RegExp
}
type Fact = [
  source: string,
  request: () => Parameters<typeof send>,
  expected: Expected,
]
const given = { details: expect.any(String) }
const error = (code: string, rest: object = {}) => ({
  details: null,
  hint: null,
  message: expect.any(String),
  ...rest,
  code,
})
const names = (...places: number[]) => places.map((place) => five[place - 1])
const rows = (order = 'name') => `${facts}&select=name&order=${order}`
const outOfRange = (details: string) => error('PGRST103', { message: 'Requested range not satisfiable', details })
const notSingle = (rows: number) =>
  error('PGRST116', {
    message: 'Cannot coerce the result to a single JSON object',
    details: `The result contains ${rows} rows`,
  })
const price = () => `reservations?conversation_id=eq.${conversation}`

const table: Fact[] = [
  // Errors
  ['errors.rst', () => ['POST', 'interests', {}, { name: '' }], {
    status: 400,
    type: 'application/json; charset=utf-8',
    body: error('23514', { details: expect.stringMatching(/^Failing row contains/) }),
  }],
  ['errors.rst', () => ['POST', 'interests', {}, { name: null }], { status: 400, body: error('23502', given) }],
  ['errors.rst', () => ['POST', 'interests', {}, five[0]], {
    status: 409,
    body: error('23505', { details: expect.stringMatching(/already exists/) }),
  }],
  ['errors.rst', () => ['POST', 'profile_interests', {}, { profile_id: 0, interest_id: 1 }], {
    status: 409,
    body: error('23503', given),
  }],
  ['errors.rst', () => ['POST', 'reservations', {}, { ...stay, conversation_id: conversation, price: -1 }], {
    status: 400,
    body: error('23514', given),
  }],
  ['errors.rst', () => ['GET', 'interests?id=eq.many'], { status: 400, body: error('22P02') }],
  ['errors.rst', () => ['GET', 'interests?select=title'], { status: 400, body: error('42703') }],
  ['errors.rst', () => ['POST', 'moderation_queue', {}, { person: 'x' }], {
    status: 500,
    body: error('55000', { ...given, hint: expect.any(String) }),
  }],
  ['errors.rst', () => ['GET', 'users', { apikey: publishableKey }], { status: 401, body: error('42501') }],
  [
    'errors.rst',
    () => ['POST', 'interests', { apikey: publishableKey, Authorization: `Bearer ${person.token}` }, five[0]],
    {
      status: 403,
      body: error('42501'),
    },
  ],
  ['errors.rst', () => ['GET', 'interest'], {
    status: 404,
    body: error('PGRST205', { hint: "Perhaps you meant the table 'public.interests'" }),
  }],
  ['errors.rst', () => ['POST', 'rpc/nothing', {}, {}], {
    status: 404,
    body: error('PGRST202', given),
  }],
  ['errors.rst', () => ['GET', 'interests?select=*,messages(*)'], {
    status: 400,
    body: error('PGRST200', given),
  }],
  ['errors.rst', () => ['GET', 'users?select=id,conversations(id)'], {
    status: 300,
    body: error('PGRST201', { details: expect.any(Array), hint: expect.any(String) }),
  }],
  ['errors.rst', () => ['GET', 'interests?id=1'], {
    status: 400,
    body: error('PGRST100', given),
  }],
  ['errors.rst', () => ['POST', 'interests', {}, { title: 'x' }], { status: 400, body: error('PGRST204') }],
  ['errors.rst', () => ['BREW', 'interests'], { status: 405, body: error('PGRST117') }],
  ['errors.rst', () => ['GET', 'interests', { Accept: 'application/xml' }], { status: 406, body: error('PGRST107') }],
  ['errors.rst', () => ['GET', 'interests', { 'Accept-Profile': 'private' }], {
    status: 406,
    body: error('PGRST106', { hint: expect.any(String) }),
  }],
  ['aggregate_functions.rst', () => ['GET', 'interests?select=id.max()'], { status: 400, body: error('PGRST123') }],
  // Numbers
  ['QuerySpec.hs', () => ['GET', `${price()}&select=price`], { status: 200, text: '[{"price":12.50}]' }],
  ['QuerySpec.hs', () => ['GET', `conversations?id=eq.${conversation}&select=reservations(price)`], {
    status: 200,
    text: '[{"reservations":[{"price":12.50}]}]',
  }],
  ['tables_views.rst', () => ['GET', `${price()}&select=price::text`], { status: 200, text: '[{"price":"12.50"}]' }],
  ['resource_representation.rst', () => ['GET', `${price()}&select=price`, { Accept: 'text/csv' }], {
    status: 200,
    type: 'text/csv; charset=utf-8',
    text: 'price\n12.50',
  }],
  [
    'resource_representation.rst',
    () => ['GET', `${price()}&select=price,ends_at`, { Accept: 'application/vnd.pgrst.array+json;nulls=stripped' }],
    { status: 200, text: '[{"price":12.50}]' },
  ],
  ['UpdateSpec.hs', () => ['PATCH', `${price()}&select=price`, full, { price: 1e3 }], {
    status: 200,
    text: '[{"price":1000.00}]',
  }],
  // Pages and counts
  ['pagination_count.rst', () => ['GET', `${rows()}&limit=2`], { status: 200, range: '0-1/*', body: names(1, 2) }],
  ['pagination_count.rst', () => ['GET', `${rows()}&limit=2&offset=3`, { Prefer: 'count=exact' }], {
    status: 206,
    range: '3-4/5',
    applied: 'count=exact',
    body: names(4, 5),
  }],
  ['pagination_count.rst', () => ['GET', rows(), { Range: '1-2', 'Range-Unit': 'items', Prefer: 'count=exact' }], {
    status: 206,
    range: '1-2/5',
    body: names(2, 3),
  }],
  ['pagination_count.rst', () => ['GET', rows(), { Range: '3-' }], { status: 200, range: '3-4/*', body: names(4, 5) }],
  ['pagination_count.rst', () => ['GET', rows('name.desc'), { Range: '0-9', Prefer: 'count=exact' }], {
    status: 200,
    range: '0-4/5',
    body: names(5, 4, 3, 2, 1),
  }],
  ['pagination_count.rst', () => ['HEAD', `${rows()}&limit=2`, { Prefer: 'count=exact' }], {
    status: 206,
    range: '0-1/5',
    text: '',
  }],
  ['RangeSpec.hs', () => ['GET', `${facts}&limit=0`], { status: 200, range: '*/*', body: [] }],
  ['RangeSpec.hs', () => ['GET', `${facts}&limit=-1`], {
    status: 416,
    body: outOfRange('Limit should be greater than or equal to zero.'),
  }],
  ['RangeSpec.hs', () => ['GET', `${facts}&offset=9`], { status: 200, range: '*/*', body: [] }],
  ['RangeSpec.hs', () => ['GET', `${facts}&offset=9`, { Prefer: 'count=exact' }], {
    status: 416,
    range: '*/5',
    body: outOfRange('An offset of 9 was requested, but there are only 5 rows.'),
  }],
  ['RangeSpec.hs', () => ['GET', facts, { Range: '4-1' }], {
    status: 416,
    body: outOfRange('The lower boundary must be lower than or equal to the upper boundary in the Range header.'),
  }],
  // One object
  ['resource_representation.rst', () => ['GET', `${rows()}&limit=1`, single], {
    status: 200,
    type: 'application/vnd.pgrst.object+json; charset=utf-8',
    body: five[0],
  }],
  ['resource_representation.rst', () => ['GET', 'interests?id=eq.0', single], { status: 406, body: notSingle(0) }],
  ['SingularSpec.hs', () => ['DELETE', facts, { ...single, ...full }], { status: 406, body: notSingle(5) }],
  ['SingularSpec.hs', () => ['DELETE', facts, { ...single, Prefer: 'max-affected=9' }], {
    status: 406,
    body: notSingle(5),
  }],
  ['SingularSpec.hs', () => ['PATCH', price(), { ...single, ...full }, { price: 12.5 }], {
    status: 200,
    applied: 'return=representation',
    body: expect.objectContaining({ price: 12.5 }),
  }],
  ['SingularSpec.hs', () => ['GET', facts, { Prefer: 'count=exact' }], { status: 200, range: '0-4/5' }],
  // Preferences
  ['preferences.rst', () => ['GET', 'interests', { Prefer: 'handling=strict, foo, bar' }], {
    status: 400,
    body: error('PGRST122', {
      message: 'Invalid preferences given with handling=strict',
      details: 'Invalid preferences: foo, bar',
    }),
  }],
  ['preferences.rst', () => ['GET', `${facts}&limit=1`, { Prefer: 'handling=lenient, foo' }], {
    status: 200,
    applied: 'handling=lenient',
  }],
  ['preferences.rst', () => ['DELETE', facts, { Prefer: 'handling=strict, max-affected=2' }], {
    status: 400,
    body: error('PGRST124', { details: 'The query affects 5 rows' }),
  }],
  [
    'preferences.rst',
    () => ['PATCH', `${rows()}&id=eq.0`, { Prefer: 'handling=strict,max-affected=2' }, { name: 'x' }],
    {
      status: 204,
      range: '*/*',
      applied: 'handling=strict, max-affected=2',
      type: null,
    },
  ],
  ['preferences.rst', () => ['POST', 'interests', {}, { name: `${run} 6` }], {
    status: 201,
    range: '*/*',
    applied: null,
    type: null,
    text: '',
  }],
  ['preferences.rst', () => ['POST', 'interests?select=name', full, { name: `${run} 7` }], {
    status: 201,
    applied: 'return=representation',
    body: [{ name: `${run} 7` }],
  }],
  [
    'preferences.rst',
    () => ['POST', 'interests?columns=name&select=name', { Prefer: 'missing=default,return=representation' }, [
      { name: `${run} 8`, id: 1 },
    ]],
    { status: 201, applied: 'missing=default, return=representation', body: [{ name: `${run} 8` }] },
  ],
  // db-tx-end is off on the platform.
  ['preferences.rst', () => ['POST', 'interests', { Prefer: 'tx=rollback,return=minimal' }, { name: `${run} 9` }], {
    status: 201,
    applied: 'return=minimal',
  }],
  ['preferences.rst', () => ['GET', `${rows()}&name=like.*9`], { status: 200, body: [{ name: `${run} 9` }] }],
  ['InsertSpec.hs', () => ['POST', 'interests', {}, [{ name: 'x' }, { name: 'y', id: 1 }]], {
    status: 400,
    body: error('PGRST102', { message: 'All object keys must match' }),
  }],
  ['InsertSpec.hs', () => ['POST', 'interests', full, []], { status: 201, body: [] }],
  ['UpdateSpec.hs', () => ['PATCH', `${rows()}&id=eq.0`, full, { name: 'x' }], {
    status: 200,
    range: '*/*',
    applied: 'return=representation',
    body: [],
  }],
  [
    'UpsertSpec.hs',
    () => ['POST', 'profile_interests?select=interest_id', {
      Prefer: 'resolution=merge-duplicates,return=representation',
    }, { profile_id: person.profileId, interest_id: 1 }],
    { status: 201, applied: 'resolution=merge-duplicates, return=representation', body: [{ interest_id: 1 }] },
  ],
  [
    'UpsertSpec.hs',
    () => ['POST', 'profile_interests', { Prefer: 'resolution=ignore-duplicates,return=representation' }, {
      profile_id: person.profileId,
      interest_id: 1,
    }],
    { status: 201, body: [] },
  ],
  ['DeleteSpec.hs', () => ['DELETE', `${rows()}&name=like.*9`, { Prefer: 'return=representation, count=exact' }], {
    status: 200,
    range: '*/1',
    applied: 'return=representation, count=exact',
    body: [{ name: `${run} 9` }],
  }],
  ['DeleteSpec.hs', () => ['DELETE', `${facts}&name=like.*8`], { status: 204, range: '*/*', type: null, text: '' }],
  // Embedding
  [
    'resource_embedding.rst',
    () => [
      'GET',
      `conversations?id=eq.${conversation}&select=voyager:users!conversations_voyager_id_fkey(name),local:users!local_id(name)`,
    ],
    { status: 200, body: [{ voyager: { name: 'Ana' }, local: { name: 'Ben' } }] },
  ],
  ['resource_embedding.rst', () => ['GET', `profiles?id=eq.${person.profileId}&select=...users(name),interests(id)`], {
    status: 200,
    body: [{ name: 'Ana', interests: [{ id: 1 }] }],
  }],
  [
    'resource_embedding.rst',
    () => ['GET', `conversations?id=eq.${conversation}&select=id,reservations!inner(id)&reservations.price=gt.9999`],
    { status: 200, body: [] },
  ],
  [
    'resource_embedding.rst',
    () => ['GET', `conversations?id=eq.${conversation}&select=reservations(title)&reservations.limit=0`],
    { status: 200, body: [{ reservations: [] }] },
  ],
]

// One after the other: some change what later ones read.
test.each(table.map(([source, request, expected]) => [source, request, expected] as const))(
  '%s: fact %#',
  async (_, request, { body, text, range, applied, type, status }) => {
    const sent = request()
    const answer = await send(...sent)
    const header = (name: string) => answer.headers.get(name)
    expect({
      sent,
      status: answer.status,
      ...(body !== undefined && { body: answer.body }),
      ...(text !== undefined && { text: answer.text }),
      ...(range !== undefined && { range: header('Content-Range') }),
      ...(applied !== undefined && { applied: header('Preference-Applied') }),
      ...(type !== undefined && { type: header('Content-Type') }),
    }).toEqual({
      sent,
      status,
      ...(body !== undefined && { body }),
      ...(text !== undefined && { text }),
      ...(range !== undefined && { range }),
      ...(applied !== undefined && { applied }),
      ...(type !== undefined && { type }),
    })
  },
)

test('supabase-js reads counts, pages, CSV, one row and errors', async () => {
  const client = createClient(origin, secretKey, {
    auth: { persistSession: false },
    realtime: { transport: ws as unknown as typeof WebSocket },
  })
  const mine = () =>
    client.from('interests').select('name', { count: 'exact' }).like('name', `${run} %`).lte('name', `${run} 5`)
  expect(await mine().order('name').range(1, 2)).toMatchObject({
    status: 206,
    count: 5,
    data: names(2, 3),
    error: null,
  })
  expect(await mine().range(7, 8)).toMatchObject({ status: 416, data: null, error: { code: 'PGRST103' } })
  const head = client.from('interests').select('*', { count: 'exact', head: true }).eq('name', five[0]!.name)
  expect(await head).toMatchObject({ count: 1, data: null, error: null })
  const prices = () => client.from('reservations').select('price').eq('conversation_id', conversation)
  expect(await prices().single()).toMatchObject({ data: { price: 12.5 } })
  expect((await prices().csv()).data).toBe('price\n12.50')
  expect(await prices().eq('id', 0).maybeSingle()).toMatchObject({ data: null, error: null })
  const change = client.from('reservations').update({ price: -1 }).eq('conversation_id', conversation)
  expect(await change).toMatchObject({ status: 400, error: { code: '23514', message: expect.stringMatching(/price/) } })
  const removed = client.from('interests').delete().like('name', `${run} %`).maxAffected(1)
  expect(await removed).toMatchObject({ status: 400, error: { code: 'PGRST124' } })
})
