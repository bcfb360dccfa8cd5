import { actAs, asService, onlyIf, type Rpc, type RpcResult } from './rpc.ts'
import { log } from './log.ts'
import {
  isAnswer,
  isConnectionLoss,
  isConnectionRefusal,
  isDatabaseError,
  serviceUnavailable,
  tooManyRequests,
} from './errors.ts'
import { parseRate, type Rate, type RateName } from './rates.ts'
import type { Claims } from './token.ts'

const rateOf = (name: RateName): Rate | null => parseRate(name, Deno.env.get(name))

const lockNotAvailable = '55P03'

type Consume = (secondsEach: number, burst: number) => Promise<string>

const enforce = async (name: RateName, consume: Consume, onFailure: () => void): Promise<void> => {
  const rate = rateOf(name)
  if (!rate) return
  const wait = await consume(rate.seconds / rate.count, rate.burst).then(Number).catch(
    (error) => {
      const { name: kind, code, status } = error
      log('warn', 'Rate limit not checked', { limit: name, kind, code })
      // The row is locked by the caller's own other requests, which a write keeps until it commits.
      if (code === lockNotAvailable) tooManyRequests(1)
      // The request itself would fail as well.
      if (isConnectionLoss(error) || code === '57014' || status === 503) serviceUnavailable()
      onFailure()
      return 0
    },
  )
  if (wait > 0) tooManyRequests(wait)
}

// The limit has a statement of its own, before the request's, so a request that fails later has still been counted. If
// counting fails, requests are allowed: no limits are better than no service.
const allow = () => {}

const consume = (name: RateName, who: string): Consume => (secondsEach, burst) =>
  asService`consume_rate_limit(
    kind => ${name}, who => ${who}, seconds_each => ${secondsEach}, burst => ${burst}
  )`

/** Consumes a token of the user or address, or throws 429. */
export const consumeRateLimit = (name: RateName, who: string): Promise<void> => enforce(name, consume(name, who), allow)

/** As consumeRateLimit, and then writes, in the same statement. A write that is refused counts as well. */
export const limitWrite = async (
  name: RateName,
  claims: Claims,
  write: (db: Rpc) => Promise<RpcResult>,
): Promise<RpcResult> => {
  const rate = rateOf(name)
  if (!rate) return await write(actAs(claims, true))
  const isWithinLimit = onlyIf`is_within_limit(
    kind => ${name}, who => ${claims.sub}, seconds_each => ${rate.seconds / rate.count}, burst => ${rate.burst})`
  const result = await write(actAs(claims, true, isWithinLimit)).catch(async (error) => {
    if (!isDatabaseError(error) || isConnectionLoss(error) || isConnectionRefusal(error)) throw error
    // The error has rolled the count back, or is of the count itself.
    await consumeRateLimit(name, claims.sub)
    if (isAnswer(error)) throw error
    return await write(actAs(claims, true))
  })
  return result.metadata.wait ? tooManyRequests(result.metadata.wait) : result
}

/** As consumeRateLimit, for signing up. Throws 503 if counting fails, or a script could create endless accounts. */
export const consumeSignUpLimit = (address: string): Promise<void> =>
  enforce('RATE_LIMIT_SIGNUP', consume('RATE_LIMIT_SIGNUP', address), serviceUnavailable)
