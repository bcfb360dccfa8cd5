// Where e-mail must be confirmed, responses do not reveal who has an account.
import { describe, expect, test } from 'vitest'
import { useEmailConfirmation } from '../tools/email_confirmation.ts'
import { databaseUrl } from '../tools/own_stack.ts'
import { type Answer, uniqueEmail } from '../tools/people.ts'
import { pause } from '../tools/wait.ts'

const { request, signUp, logIn, person } = useEmailConfirmation()

describe('sign-up, log-in and recovery do not reveal who has an account', () => {
  test('by their responses: free, pending and taken addresses get the same, ids included', async () => {
    const ana = await person()
    const [free, pending, taken] = [uniqueEmail(), uniqueEmail(), (await person()).email]
    await signUp(pending)
    const probe = async (email: string) => {
      const answer = await signUp(email, 'a guess of mine')
      const { id, ...user } = answer.body.user
      const attempts: Answer[] = [
        await request('PUT', `/users/me/blocks/${id}`, undefined, ana),
        await request('DELETE', `/users/me/blocks/${id}`, undefined, ana),
        await request('POST', '/conversations', { other_user_id: id }, ana),
        // Profile ids are as far advanced in a database of its own.
        ...(databaseUrl ? [] : [await request('GET', `/users/${id}`)]),
      ]
      return {
        id,
        status: answer.status,
        headers: [...answer.headers.keys()],
        body: { ...answer.body, user: { ...user, email: user.email.replace(email, 'the address') } },
        attempts: attempts.map(({ status, text }) => [status, text]),
      }
    }
    const responses = [
      await probe(taken),
      await probe(free),
      await probe(pending),
      await probe(taken),
      await probe(taken),
    ]
    const [{ id: _, ...first }] = responses as [typeof responses[0], ...typeof responses]
    for (const { id: _, ...other } of responses) expect(other).toEqual(first)
    expect(new Set(first.attempts.map(([status]) => status))).toEqual(new Set([404]))
    // Nor by counting: each response has the next id, if no other sign-ups happen meanwhile.
    if (!databaseUrl) expect(responses.map(({ id }) => id - responses[0]!.id)).toEqual([0, 1, 2, 3, 4])
  })

  test('by concurrent sign-ups: all get 201', async () => {
    const taken = (await person()).email
    for (const email of [taken, uniqueEmail(), taken, uniqueEmail()]) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => signUp(email, 'a guess of mine')))
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
    }
  })

  test.skipIf(databaseUrl)('by profile ids: a sign-up consumes one in either case', async () => {
    const profileOf = async ({ token }: { token: string }) =>
      (await request('GET', '/users/me', undefined, { token })).body.Profile.id as number
    const ben = await person()
    const before = await profileOf(ben)
    await signUp(ben.email)
    const between = await profileOf(await person())
    await signUp(uniqueEmail())
    expect(await profileOf(await person()) - between).toBe(between - before)
  })
})

describe('response times, measured side by side, do not reveal who has an account', { timeout: 180_000 }, () => {
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const began = performance.now()
    await work()
    return performance.now() - began
  }
  const median = (values: number[]): number =>
    values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!

  /** How often a guess that the slower response is the known address is right, and how far apart the medians are. */
  const guess = async (rounds: number, known: () => Promise<unknown>, unknown: () => Promise<unknown>) => {
    const times = { known: [] as number[], unknown: [] as number[] }
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round++) {
      for (const kind of round % 2 ? ['known', 'unknown'] as const : ['unknown', 'known'] as const) {
        const duration = await timed(kind === 'known' ? known : unknown)
        if (round > 0) times[kind].push(duration)
      }
    }
    const pairs = times.known.flatMap((one) => times.unknown.map((other) => one > other ? 1 : 0))
    return {
      right: pairs.reduce((sum: number, won) => sum + won, 0) / pairs.length,
      apart: Math.abs(median(times.known) / median(times.unknown) - 1),
    }
  }

  // Without the floor the guess is always right, and the medians differ by half to twenty times. Timers leave a few
  // percent. A busy machine sometimes leaves more, but not in three series one after the other.
  const expectNothingRevealed = async (...[rounds, known, unknown]: Parameters<typeof guess>) => {
    const reveals = ({ right, apart }: { right: number; apart: number }) => apart > 0.08 || right > 0.95 && apart > 0.01
    const series = [await guess(rounds, known, unknown)]
    while (series.length < 3 && series.every(reveals)) series.push(await guess(rounds, known, unknown))
    expect(series.every(reveals), JSON.stringify(series)).toBe(false)
  }

  test('of failed log-ins', async () => {
    const { email } = await person()
    await expectNothingRevealed(
      7,
      () => logIn(email, 'a guess of mine'),
      () => logIn(uniqueEmail(), 'a guess of mine'),
    )
  })

  // Without the floor, ten hashes run one after the other, and the unknown address is answered at once.
  test('of ten concurrent failed log-ins, also after a quiet period', async () => {
    const { email } = await person()
    const many = (address: string) =>
      timed(() => Promise.all(Array.from({ length: 10 }, () => logIn(address, 'a guess of mine'))))
    const unknown = await many(uniqueEmail())
    const known = await many(email)
    // 0.2 s for each that begins at the same moment, and a busy machine spreads them.
    expect(unknown).toBeGreaterThanOrEqual(1000)
    expect(known).toBeGreaterThanOrEqual(1000)
    // The floor cannot hide more than its maximum. A machine that slow is too busy to measure.
    if (known < 5000) expect(known).toBeLessThan(unknown * 2)
  })

  test('of recovery', async () => {
    const { email } = await person()
    const recover = (address: string) => request('POST', '/auth/recover', { email: address })
    await expectNothingRevealed(7, () => recover(email), () => recover(uniqueEmail()))
  })

  test('of sign-up', async () => {
    const { email } = await person()
    await expectNothingRevealed(6, () => signUp(uniqueEmail()), () => signUp(email))
  })

  test('300 failed log-ins that wait for the minimum response time do not delay other requests', async () => {
    const waiting = Promise.all(Array.from({ length: 300 }, () => logIn(uniqueEmail(), 'a guess of mine')))
    await pause(50)
    const duration = await timed(() => request('GET', '/users/interests'))
    const answers = await waiting
    expect(answers.every(({ status }) => status === 401)).toBe(true)
    expect(duration).toBeLessThan(10_000)
  })
})
