import { asService } from './rpc.ts'
import { log } from './log.ts'
import { isConnectionLoss, serviceUnavailable, tooManyRequests } from './errors.ts'
import { parseRate, type Rate, type RateName, rateNames } from './rates.ts'

let rates: Map<RateName, Rate | null> | undefined
const rateOf = (name: RateName): Rate | null => {
  rates ??= new Map(rateNames.map((each) => [each, parseRate(each, Deno.env.get(each))]))
  return rates.get(name)!
}

type Consume = (secondsEach: number, burst: number) => Promise<string>

const enforce = async (name: RateName, consume: Consume, onFailure: () => void): Promise<void> => {
  const rate = rateOf(name)
  if (!rate) return
  const wait = await consume(rate.seconds / rate.count, rate.burst).then(Number).catch(
    (error) => {
      const { name: kind, code, status } = error
      log('warn', 'Rate limit not checked', { limit: name, kind, code })
      // The request itself would fail as well.
      if (isConnectionLoss(error) || code === '57014' || status === 503) serviceUnavailable()
      onFailure()
      return 0
    },
  )
  if (wait > 0) tooManyRequests(wait)
}

// The limit has a statement of its own, before the request's. A request that fails later has still been counted, and
// the row lock lasts no longer than the count. If counting fails, requests are allowed: no limits are better than no
// service.
const allow = () => {}

const consume = (name: RateName, who: string): Consume => (secondsEach, burst) =>
  asService`consume_rate_limit(
    kind => ${name}, who => ${who}, seconds_each => ${secondsEach}, burst => ${burst}
  )`

/** Consumes a token of the user or address, or throws 429. */
export const consumeRateLimit = (name: RateName, who: string): Promise<void> => enforce(name, consume(name, who), allow)

/** The limits of what takes an idempotency key. */
type WriteLimit = 'RATE_LIMIT_SEND' | 'RATE_LIMIT_RESERVE' | 'RATE_LIMIT_REPORT'

/**
 * As consumeRateLimit, and then writes; a repeat with a client_id that was used before consumes none. If the database
 * refuses it because it is no repeat, it consumes one after all.
 */
export const limitWrite = async <Result>(
  name: WriteLimit,
  account: string,
  clientId: string | null,
  write: () => Promise<Result>,
): Promise<Result> => {
  await enforce(
    name,
    (secondsEach, burst) =>
      asService`consume_write_limit(
        kind => ${name}, account => ${account}, client_id => ${clientId}, seconds_each => ${secondsEach},
        burst => ${burst})`,
    allow,
  )
  try {
    return await write()
  } catch (error) {
    if ((error as { code?: string } | null)?.code === 'PT422') await consumeRateLimit(name, account)
    throw error
  }
}

/** As consumeRateLimit, for signing up. Throws 503 if counting fails, or a script could create endless accounts. */
export const consumeSignUpLimit = (address: string): Promise<void> =>
  enforce('RATE_LIMIT_SIGNUP', consume('RATE_LIMIT_SIGNUP', address), serviceUnavailable)
