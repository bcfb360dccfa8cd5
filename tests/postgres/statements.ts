/**
 * Sends statements to the database as the functions do, in one of the ways below, and prints what came of it as JSON.
 *   EDGE_DATABASE_URL=… deno run -A tests/postgres/statements.ts WAY [ARGUMENT…]
 */
import process from 'node:process'
import { openPool } from '../../functions/_shared/postgres.ts'
import { openTcpProxy } from '../tools/tcp_proxy.ts'
import { pause } from '../tools/wait.ts'

// Not before the settings are read from the environment, which a way may change.
const rpc = () => import('../../functions/_shared/rpc.ts')
const claimsOf = (sub: string) => ({ sub, exp: Date.now() / 1000 + 3600 })
const times = <Result>(count: number, each: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => each(index)))
const limits = { connectionTimeoutMillis: 4000, query_timeout: 6000, idleTimeoutMillis: 60_000 }

const ways: Record<string, (...args: string[]) => Promise<unknown>> = {
  /** Several callers in alternation: {"<caller>": {"<answer>": count}}. */
  alternate: async (rounds, ...accounts) => {
    const { actAs, asService } = await rpc()
    const callers: [string, () => Promise<string>][] = [
      ...accounts.map((sub): [string, () => Promise<string>] => [
        sub,
        async () => (await actAs(claimsOf(sub), true)`describe_caller(${{}})`).body,
      ]),
      ['anonymous', async () => (await actAs(null, false)`describe_caller(${{}})`).body],
      ['edge_functions', () => asService`describe_caller()`],
    ]
    const counts: Record<string, Record<string, number>> = {}
    for (let round = 0; round < Number(rounds); round++) {
      await Promise.all(callers.map(async ([caller, call]) => {
        const answer = await call().catch((error: Error) => `error: ${error.message}`)
        const answers = counts[caller] ??= {}
        answers[answer] = (answers[answer] ?? 0) + 1
      }))
    }
    return counts
  },

  /** 200 numbers, ten at a time, each counted by a statement of its own. */
  count: async () => {
    const { asService } = await rpc()
    const answers: number[] = []
    for (let from = 0; from < 200; from += 10) {
      answers.push(...(await times(10, (index) => asService`count_once(${from + index})`)).map(Number))
    }
    return answers
  },

  /**
   * Anonymous callers one after the other, [name, seconds that their statement takes, seconds until the next comes],
   * between two others: the name that each was answered, or how it failed.
   */
  call: async (callers) => {
    const { actAs } = await rpc()
    const call = async (caller: string, seconds = 0) => {
      const answer: string | number = await actAs(null, false)`echo_after(${seconds}, ${caller})`.then(
        ({ body }) => JSON.parse(body),
        (error) => error.status ?? error.code ?? 'error',
      )
      return { caller, answer }
    }
    // The connection is open before the rest.
    await call('before')
    const calls: ReturnType<typeof call>[] = []
    for (const [caller, seconds, next] of JSON.parse(callers!)) {
      calls.push(call(caller, seconds))
      if (next) await pause(1000 * next)
    }
    return [...await Promise.all(calls), await call('after')]
  },

  /**
   * What ended a slow statement of a user and one of an anonymous caller; then the limits of a transaction that
   * anonymous callers and users have, in turn on every connection.
   */
  takeLong: async (account) => {
    const { actAs } = await rpc()
    const as = (isUser: boolean) => actAs(isUser ? claimsOf(account!) : null, isUser)
    const endOf = (isUser: boolean) =>
      as(isUser)`sleep_for(30)`.catch(({ code, status, name }) => code ?? status ?? name)
    const [user, anonymous] = await Promise.all([endOf(true), endOf(false)])
    const limits: string[] = []
    for (const isUser of [false, true, false, true]) {
      limits.push(...await times(2, async () => JSON.parse((await as(isUser)`limit()`).body)))
    }
    return { user, anonymous, limits }
  },

  /** One statement again and again on so many connections: the errors, and what the server has prepared then. */
  prepare: async (connections) => {
    const query = openPool(process.env.EDGE_DATABASE_URL!, { max: Number(connections), ...limits })
    const errors: string[] = []
    const ask = async (value: number): Promise<void> => {
      try {
        const [row] = await query('select $1::integer as value, pg_sleep(0.01)', [value])
        if (row?.value !== String(value)) throw new Error(`The answer to ${value} is ${row?.value}`)
      } catch (error) {
        const { code } = error as { code?: string }
        if (!code) throw error
        errors.push(code)
      }
    }
    for (let round = 0; round < 20; round++) await times(Number(connections), (index) => ask(100 * round + index))
    const [row] = await query(`select count(*) from pg_prepared_statements where statement like 'select $1%'`, [])
    return { errors, prepared: Number(row?.count) }
  },

  /** Twenty statements over four connections: the version of TLS of each, or the error. */
  encrypt: async () => {
    const ca = process.env.DATABASE_CA_CERTIFICATE
    // Longer than a busy machine takes for the handshakes.
    const patient = { ...limits, max: 4, connectionTimeoutMillis: 120_000 }
    const query = openPool(process.env.EDGE_DATABASE_URL!, { ...patient, ...ca && { ca } })
    try {
      const rows = await times(20, () => query('select version from pg_stat_ssl where pid = pg_backend_pid()', []))
      return rows.map(([row]) => row!.version)
    } catch (error) {
      const { code, message, cause } = error as Error & { code?: string }
      return { error: code ?? (cause as { code?: string } | undefined)?.code ?? message }
    }
  },

  /** The round trips that it takes to open a connection, and of each kind of statement. */
  roundTrips: async (account) => {
    // How often the client has sent something and then waited for an answer.
    let [flights, isAnswered] = [0, true]
    const { url } = await openTcpProxy(new URL(process.env.EDGE_DATABASE_URL!), () => ({
      request: () => {
        if (isAnswered) flights++
        return !(isAnswered = false)
      },
      answer: () => isAnswered = true,
    }))
    const countOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = flights
      await work()
      return flights - before
    }
    process.env.EDGE_DATABASE_URL = url
    const { actAs, asService } = await rpc()
    const { limitWrite } = await import('../../functions/_shared/rate_limit.ts')
    const claims = claimsOf(account!)
    const user = actAs(claims, true)
    const opening = await countOf(() => asService`echo(${'a'})`) - 1
    const statements: number[] = []
    const works = [
      () => asService`echo(${'a'})`,
      ...[{ text: 'b' }, { text: 'c'.repeat(100_000) }, null].map((value) => () => user`echo(${value})`),
      () => actAs(null, false)`echo(${{}})`,
      // An error.
      () => user`echo(${'not JSON'})`.then(() => Promise.reject(new Error('No error')), () => {}),
      () => user`get_account()`,
      () => limitWrite('RATE_LIMIT_SEND', claims, (db) => db`get_account()`),
    ]
    for (const work of works) statements.push(await countOf(work))
    return { opening, statements }
  },
}

const [way, ...args] = process.argv.slice(2)
console.log(JSON.stringify(await ways[way!]!(...args)))
process.exit(0)
