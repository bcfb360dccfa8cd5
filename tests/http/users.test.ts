import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  asAdmin,
  call,
  opaqueTag,
  type Person,
  seededInterests,
  signUp,
  uniqueEmail,
} from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'

type Interest = { id: number; name: string }

const nulls = (fields: object) => Object.fromEntries(Object.keys(fields).map((field) => [field, null]))
const numerically = (ids: number[]): number[] => ids.toSorted((a, b) => a - b)
const unknownInterest = 999_999_999
const cacheable = 'public, max-age=3600'

/** All stored data of a user, sorted. */
const rowsOf = async ({ id, profileId }: Person) => ({
  ...(await asAdmin('GET', `users?id=eq.${id}&select=*,profiles(*)`)).body[0],
  interests: (await asAdmin('GET', `profile_interests?profile_id=eq.${profileId}&order=interest_id`)).body,
})

/** Expects 400 naming this field, and no change in the database. */
const expectUnchanged = async (person: Person, act: () => Promise<Answer>, word: string) => {
  const before = await rowsOf(person)
  expectError(await act(), 400, word)
  expect(await rowsOf(person)).toEqual(before)
}

const account = { name: 'Ana Lima', bio: 'Potter', location: 'Alfama' }
const person = { first_name: 'Ana', last_name: 'Lima', age: 41, biography: 'Born by the river' }
const place = { country: 'Portugal', city: 'Lisboa', image_url: 'https://example.com/ana.png' }
const full = { ...account, ...person, ...place, is_searchable: true }

let interests: Interest[]
let extra: number[]
let ana: Person
let ben: Person
const update = (fields: object, person = ben) => person.call('PATCH', '/users/profile', fields)
const replace = (interest_ids: unknown, person = ben) =>
  person.call('PUT', '/users/profile/interests', { interest_ids })

beforeAll(async () => {
  // A user without a profile makes user ids and profile ids differ.
  await asAdmin('POST', 'users', { name: 'Apart', email: uniqueEmail() })
  interests = await seededInterests()
  extra = interests.slice(0, 51).map(({ id }) => id)
  ana = await signUp(full.name, { ...full, interest_ids: [interests[3]!.id, interests[1]!.id] })
  ben = await signUp('Ben')
})

describe('GET /users/me', () => {
  test('returns the whole account, profile and interests', async () => {
    const { status, body } = await ana.call('GET', '/users/me')
    expect(status).toBe(200)
    const { Profile, ...user } = body
    const { Interests, ...details } = Profile
    expect(user).toEqual({ id: ana.id, ...account, email: ana.email, role: 'user', is_active: true })
    expect(details).toEqual({ id: ana.profileId, user_id: ana.id, ...person, ...place, is_searchable: true })
    expect(Interests).toHaveLength(2)
    expect(Interests).toEqual(expect.arrayContaining([interests[1], interests[3]]))
    expect(ana.profileId).not.toBe(ana.id)
    expect(Number.isInteger(ana.id) && Number.isInteger(ana.profileId)).toBe(true)
  })

  test('returns null for every empty field', async () => {
    const { id, profileId, name, email, call } = await signUp('Quiet')
    const { body } = await call('GET', '/users/me')
    const details = { ...nulls({ ...person, ...place }), is_searchable: false, Interests: [] }
    const Profile = { id: profileId, user_id: id, ...details }
    expect(body).toEqual({ ...nulls(account), id, name, email, role: 'user', is_active: true, Profile })
  })
})

describe('PATCH /users/profile', () => {
  test.each(Object.entries(full))('changes %s and nothing else', async (field, value) => {
    const other = typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : `${value}x`
    const { body: before } = await ana.call('GET', '/users/me')
    const { status, body } = await update({ [field]: other }, ana)
    const expected = field in before
      ? { ...before, [field]: other }
      : { ...before, Profile: { ...before.Profile, [field]: other } }
    expect({ status, body }).toEqual({ status: 200, body: expected })
    expect((await ana.call('GET', '/users/me')).body).toEqual(expected)
    expect((await update({ [field]: value }, ana)).body).toEqual(before)
  })

  test('null clears optional fields', async () => {
    const dan = await signUp(full.name, full)
    const cleared = nulls({ bio: 0, location: 0, ...person, ...place })
    const { body } = await update(cleared, dan)
    expect({ ...body.Profile, ...body }).toMatchObject({ ...cleared, name: full.name, is_searchable: true })
  })

  test.each(['name', 'is_searchable', 'interest_ids'])('null does not clear %s', async (field) => {
    await expectUnchanged(ana, () => update({ [field]: null }, ana), field)
  })

  test('an empty object changes nothing', async () => {
    const before = await rowsOf(ana)
    const { status, body } = await update({}, ana)
    expect({ status, body }).toEqual({ status: 200, body: (await ana.call('GET', '/users/me')).body })
    expect(await rowsOf(ana)).toEqual(before)
  })

  test('other keys are ignored beside a valid one', async () => {
    const before = await rowsOf(ana)
    const identity = { id: ben.id, user_id: ben.id, auth_id: '00000000-0000-0000-0000-000000000000', profile_id: 1 }
    const state = { email: 'other@example.com', role: 'admin', is_active: false, password: 'another horse' }
    const others = {
      Profile: { city: 'Elsewhere' },
      Interests: [],
      created_at: '2020-01-01T00:00:00.000Z',
      nonsense: 1,
    }
    const { status } = await update({ ...identity, ...state, ...others, bio: 'Sculptor' }, ana)
    expect(status).toBe(200)
    expect(await rowsOf(ana)).toEqual({ ...before, bio: 'Sculptor' })
    expect((await call('POST', '/auth/login', { email: ana.email, password: ana.password })).status).toBe(200)
  })

  test.each([
    ['name', 100],
    ['first_name', 100],
    ['last_name', 100],
    ['bio', 500],
    ['biography', 5000],
    ['location', 120],
    ['city', 120],
    ['country', 120],
  ])('%s has at most %i characters, counting code points', async (field, max) => {
    for (const letter of ['x', '😀']) {
      const { status, body } = await update({ [field]: letter.repeat(max) })
      expect(status).toBe(200)
      expect({ ...body, ...body.Profile, name: body.name }[field]).toBe(letter.repeat(max))
      await expectUnchanged(ben, () => update({ [field]: letter.repeat(max + 1) }), field)
    }
  })

  test('image_url has at most 2,048 characters', async () => {
    for (const letter of ['x', 'ß', '😀']) {
      const address = `https://example.com/${letter.repeat(2028)}`
      const { status, body } = await update({ image_url: address })
      expect({ status, image: body.Profile?.image_url }).toEqual({ status: 200, image: address })
      await expectUnchanged(ben, () => update({ image_url: address + letter }), 'image_url')
    }
  })

  test.each([18, 120])('age can be %i', async (age) => {
    expect((await update({ age })).body.Profile.age).toBe(age)
  })

  test.each([
    ['age', [17, 121, -18, 18.5, 2 ** 31, 1e300, '30', true]],
    ['name', ['', ' \n\t ', 5]],
    ['image_url', ['', 'https://', '/a.png', '//example.com/a.png', 'http://example.com/a.png', 'ftp://example.com/a']],
    ['image_url', [
      'https://x"onerror=alert(1)',
      "https://x'onerror=alert(1)",
      'https://x/`',
      'https://x/<b>',
      'https://x\\@y/',
    ]],
    ['image_url', [
      'https://a@x/',
      'https://a:b@x/',
      'https://x/\u200b',
      'https://x/\u202e',
      'https://x/\u0085',
      'https://x:port/',
    ]],
    ['image_url', ['https://exa mple.com', 'x https://example.com', 'javascript:alert(1)', 'data:image/png;base64,AA']],
    ['is_searchable', ['true', 1]],
  ])('%s cannot be one of %j', async (field, values) => {
    for (const value of values) {
      await expectUnchanged(ben, () => update({ bio: 'Never stored', [field]: value }), field)
    }
  })

  test('a change is atomic', async () => {
    const change = { name: 'Changed', city: 'Changed', is_searchable: true, interest_ids: [extra[0], unknownInterest] }
    await expectUnchanged(ben, () => update(change), String(unknownInterest))
    await expectUnchanged(ben, () => update({ ...change, interest_ids: [extra[0]], age: 17 }), 'age')
    const { body } = await update({ ...change, interest_ids: [extra[0]] })
    expect(body).toMatchObject({ name: 'Changed', Profile: { city: 'Changed', Interests: [interests[0]] } })
  })
})

describe.each([
  ['PUT /users/profile/interests', replace],
  ['PATCH /users/profile with interest_ids', (interest_ids: unknown) => update({ interest_ids })],
])('%s', (_, setInterests) => {
  const idsAfter = async (interest_ids: unknown) => {
    const { status, body } = await setInterests(interest_ids)
    expect(status).toBe(200)
    const { body: me } = await ben.call('GET', '/users/me')
    expect((body.Profile ?? body).Interests).toEqual(me.Profile.Interests)
    return numerically(me.Profile.Interests.map(({ id }: Interest) => id))
  }

  test('replaces the whole set, which can be empty', async () => {
    expect(await idsAfter([extra[5], extra[2]])).toEqual(numerically([extra[2]!, extra[5]!]))
    expect(await idsAfter([extra[2]])).toEqual([extra[2]])
    expect(await idsAfter([])).toEqual([])
  })

  test('counts duplicates once', async () => {
    expect(await idsAfter(Array(60).fill(extra[7]))).toEqual([extra[7]])
  })

  test('accepts 50 interests at most', async () => {
    expect(await idsAfter(extra.slice(0, 50))).toHaveLength(50)
    await expectUnchanged(ben, () => setInterests(extra), 'interest_ids')
  })

  test('refuses unknown interests, naming them, and stores none of the others', async () => {
    const refused = [unknownInterest, extra[9], 2_147_483_648]
    await expectUnchanged(ben, () => setInterests(refused), String(unknownInterest))
    await expectUnchanged(ben, () => setInterests(refused), '2147483648')
  })

  test.each(['1', 1, { 0: 1 }, [[1]], ['1'], [1.5], [0], [-1], [null], [true], [2 ** 53], [1e300]].map((bad) => [bad]))(
    'refuses %j',
    (bad) => expectUnchanged(ben, () => setInterests(bad), 'interest_ids'),
  )
})

test('PUT /users/profile/interests returns the profile with its interests', async () => {
  const { status, body } = await replace([extra[4]], ana)
  const expected = { id: ana.profileId, user_id: ana.id, Interests: [interests[4]] }
  expect({ status, body }).toEqual({ status: 200, body: expected })
  await expectUnchanged(ana, () => ana.call('PUT', '/users/profile/interests', {}), 'interest_ids')
})

describe('PATCH /users/searchable', () => {
  const show = (is_searchable: unknown) => ben.call('PATCH', '/users/searchable', { is_searchable })
  const hidden = { public_profile_id: null, public_image_url: null }

  test('shows and hides the profile and changes nothing else', async () => {
    const before = await rowsOf(ben)
    for (const is_searchable of [true, true, false]) {
      const { status, body } = await show(is_searchable)
      expect({ status, body }).toEqual({ status: 200, body: { is_searchable } })
      expect((await call('GET', `/users/${ben.profileId}`)).status).toBe(is_searchable ? 200 : 403)
      const { id, image_url } = before.profiles
      const shown = is_searchable ? { public_profile_id: id, public_image_url: image_url } : hidden
      expect(await rowsOf(ben)).toEqual({ ...before, ...shown, profiles: { ...before.profiles, is_searchable } })
    }
  })

  test.each(['true', 1, 0, null, undefined])('refuses %j', async (value) => {
    await expectUnchanged(ben, () => show(value), 'is_searchable')
  })
})

describe('GET /users/:id', () => {
  const view = (person: Person, headers: Record<string, string> = {}) =>
    call('GET', `/users/${person.profileId}`, undefined, { headers })

  test('shows a searchable profile to anyone, by profile id and without e-mail', async () => {
    const { status, body, text, headers } = await view(ana)
    const { Interests: interests } = (await ana.call('GET', '/users/me')).body.Profile
    const expected = { id: ana.id, name: full.name, profile: { id: ana.profileId, ...person, ...place, interests } }
    expect({ status, body }).toEqual({ status: 200, body: expected })
    expect(text).not.toContain(ana.email)
    expect(headers.get('Cache-Control')).toBe(cacheable)
  })

  test('ignores tokens, valid or not', async () => {
    const { text } = await view(ana)
    for (const token of [ben.token, 'garbage']) {
      expect((await view(ana, { Authorization: `Bearer ${token}` })).text).toBe(text)
    }
  })

  test('answers 304 to a matching ETag until the profile changes', async () => {
    const first = await view(ana)
    const tag = first.headers.get('ETag')!
    expect(tag).toMatch(/^(W\/)?".+"$/)
    const unchanged = await view(ana, { 'If-None-Match': tag })
    expect({ status: unchanged.status, text: unchanged.text }).toEqual({ status: 304, text: '' })
    expect(opaqueTag(unchanged)).toBe(opaqueTag(first))
    expect(unchanged.headers.get('Cache-Control')).toBe(cacheable)
    // A server or proxy that compresses makes the tag weak.
    for (const same of [`"${opaqueTag(first)}"`, `W/"${opaqueTag(first)}"`]) {
      expect((await view(ana, { 'If-None-Match': same })).status).toBe(304)
    }
    expect((await view(ana, { 'If-None-Match': '"another"' })).text).toBe(first.text)

    await update({ city: 'Porto' }, ana)
    const changed = await view(ana, { 'If-None-Match': tag })
    expect({ status: changed.status, city: changed.body?.profile.city }).toEqual({ status: 200, city: 'Porto' })
    expect(opaqueTag(changed)).not.toBe(opaqueTag(first))
  })

  test('refuses hidden, deactivated and unknown profiles without caching', async () => {
    const cat = await signUp('Cat', { is_searchable: true })
    const tag = (await view(cat)).headers.get('ETag')!
    await asAdmin('PATCH', `users?id=eq.${cat.id}`, { is_active: false })
    const hidden = await signUp('Hidden')
    const unknown = { ...hidden, profileId: 2_147_483_648 }
    for (const [person, status] of [[hidden, 403], [cat, 403], [unknown, 404]] as const) {
      const refused = await view(person, { 'If-None-Match': tag })
      expectError(refused, status)
      expect(refused.headers.get('Cache-Control')).toBe('no-store')
      expect(refused.headers.has('ETag')).toBe(false)
    }
    expectError(await hidden.call('GET', `/users/${hidden.profileId}`), 403)
  })
})

test('GET /users/interests is public and cacheable', async () => {
  const { status, headers, body } = await call('GET', '/users/interests')
  expect(status).toBe(200)
  expect(headers.get('Cache-Control')).toMatch(/public.*max-age=[1-9]/)
  expect(body.length).toBeGreaterThan(50)
  for (const interest of body) expect(interest).toEqual({ id: expect.any(Number), name: expect.any(String) })
})
