/**
 * Blocks: who can block whom, and who writes across a block. What else reaches the other is in cuts.rules.ts, and that
 * neither finds the other in search_details.rules.ts.
 */
import { equal, idOf, is, iso, type Json } from './fixture.ts'
import { people, type Person, sql, test } from './fixture.ts'
import { activate, block, meet, send, unblock } from './talks.ts'

const blocked = async (who: Person) => (await who.get('/users/me/blocks')).map((one: Json) => one.user_id)
const open = (who: Person, other: Person, status: number, expected?: Json): Promise<Json> =>
  who.post('/conversations', { other_user_id: other.id }, status, expected)
/** Both get the same error. Only the code tells who has blocked that it was them. */
const refuses = async (isBlocker: boolean, who: Person, path: string, body: object) => {
  const answer = await who.ask('POST', path, body)
  equal([answer.status, answer.body], [403, { error: 'You cannot write to this person' }])
  is(answer.headers.get('X-Error-Code'), isBlocker ? 'blocked' : 'forbidden')
}

test('blocks are listed latest first, for their owner alone, and can be removed; repeats change nothing', async () => {
  const [ana, ben, cat] = await people('ana', 'ben', 'cat')
  for (const other of [ben, ben, cat, ben]) await block(ana, other)
  const list = [cat, ben].map(({ id, name }) => ({ user_id: id, name, createdAt: iso }))
  equal(await ana.get('/users/me/blocks'), list)
  // In one transaction now() stands still.
  await sql(`update private.blocks set created_at = created_at - interval '1 hour' where blocked_id = ${cat.id}`)
  equal(await ana.get('/users/me/blocks'), list.toReversed())
  equal([await blocked(ben), (await ben.get('/users/me/export')).blocks], [[], []])
  await unblock(ben, ana)
  equal(await blocked(ana), [ben.id, cat.id])
  for (let time = 0; time < 2; time++) await unblock(ana, ben)
  equal(await blocked(ana), [cat.id])
  await activate(cat, false)
  await unblock(ana, cat)
  equal(await blocked(ana), [])
})

test('nobody blocks themselves, an unknown or a deactivated user, or more than 1,000', async () => {
  const [ana, ben, cat] = await people('ana', 'ben', 'cat')
  await activate(cat, false)
  for (const method of ['PUT', 'DELETE']) {
    const change = (id: unknown, status: number, error: string) =>
      ana.expect(method, `/users/me/blocks/${id}`, undefined, status, error)
    await change(ana.id, 400, 'user_id: you cannot block yourself')
    for (const id of [2_147_483_648, cat.id]) await change(id, 404, 'User not found')
  }
  equal(await blocked(ana), [])
  await sql(
    `with crowd as (insert into public.users (name, email) select 'x', '' from generate_series(1, 999) returning id)
     insert into private.blocks (blocker_id, blocked_id) select $1, id from crowd`,
    [ben.id],
  )
  for (let time = 0; time < 2; time++) await block(ben, ana)
  const [dan] = await people('dan')
  await ben.put(`/users/me/blocks/${dan.id}`, undefined, 400, 'user_id: you cannot block more than 1,000 people')
})

test('neither whoever is blocked nor whoever blocks can write, with the same error; the rest stays', async () => {
  const { ana, ben, dan, ab, ca } = await meet()
  const { id } = await send(ben, ab, 'Before')
  // Blocks of others tell nothing.
  for (const [one, other] of [[ana, dan], [dan, ben], [ben, dan], [dan, ana]] as const) await block(one, other)
  for (const [one, other] of [[ben, ana], [ana, ben]] as const) {
    await block(one, other)
    for (const who of [ana, ben]) {
      await refuses(who === one, who, `${ab}/messages`, { content: 'Hello' })
      is(await who.get(`${ab}/messages`), [{ content: 'Before' }])
    }
    await send(ana, ca, 'Others')
    await ana.post(`${ab}/read`, { up_to_message_id: id }, 200)
    await open(one, other, 409, { conversation_id: idOf(ab) })
    await unblock(one, other)
  }
  await send(ana, ab, 'After')
})

test('across a block neither opens a conversation; if both block, both must unblock', async () => {
  const [ana, ben, cat] = await people('ana', 'ben', 'cat')
  await block(ana, ben)
  for (const [one, other] of [[ana, ben], [ben, ana]] as const) {
    await refuses(one === ana, one, '/conversations', { other_user_id: other.id })
  }
  equal(await ana.get('/conversations'), [])
  await open(ana, cat, 201)
  await open(cat, ben, 201)
  await block(ben, ana)
  await unblock(ana, ben)
  await refuses(false, ana, '/conversations', { other_user_id: ben.id })
  await unblock(ben, ana)
  await open(ana, ben, 201)
})
