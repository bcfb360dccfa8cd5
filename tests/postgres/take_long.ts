/**
 * Run by pooler.test.ts: slow statements of a user and of an anonymous caller. Prints the error code that ended each,
 * or null, and its duration in milliseconds.
 *   EDGE_DATABASE_URL=… deno run -A tests/postgres/take_long.ts ACCOUNT
 */
import { actAs } from '../../functions/_shared/rpc.ts'

const account = { sub: Deno.args[0]!, exp: Date.now() / 1000 + 3600 }
const sleep = async (claims: typeof account | null, seconds: number) => {
  const begin = performance.now()
  const code = await actAs(claims, true)`sleep_for(${seconds})`.then(
    () => null,
    (error) => error.code ?? error.status ?? error.name,
  )
  return { code, milliseconds: Math.round(performance.now() - begin) }
}

const [user, anonymous] = await Promise.all([sleep(account, 4), sleep(null, 30)])
const outcomes = {
  user,
  anonymous,
  anonymousAgain: await sleep(null, 0),
  // The time limit of an anonymous caller must not stay with the connection.
  userAgain: await sleep(account, 4),
  userTooLong: await sleep(account, 30),
}
console.log(JSON.stringify(outcomes))
Deno.exit(0)
