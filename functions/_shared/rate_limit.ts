import { actAs, asService, type Rpc, type RpcResult } from './rpc.ts'
import { log } from './log.ts'
import { isConnectionLoss, isOfStatement, serviceUnavailable, tooManyRequests } from './errors.ts'
import type { RateName } from './setting_rules.ts'
import { settings } from './settings.ts'
import type { Claims } from './token.ts'

/** Consumes a token, or throws 429: in a statement of its own, so that a request that fails later was counted. */
export const consumeRateLimit = async (name: RateName, who: string): Promise<void> => {
  const rate = settings[name]
  if (!rate) return
  const counted = asService`consume_rate_limit(
    kind => ${name}, who => ${who}, seconds_each => ${rate.seconds / rate.count}, burst => ${rate.burst}
  )`
  const wait = await counted.then(Number).catch((error) => {
    const { name: kind, code, status } = error
    log('warn', 'Rate limit not checked', { limit: name, kind, code })
    // lock_not_available: the caller's own other requests hold the row, a write until it commits.
    if (code === '55P03') tooManyRequests(1)
    // The request itself would fail as well.
    if (isConnectionLoss(error) || code === '57014' || status === 503) serviceUnavailable()
    // No limits are better than no service, but a script could create endless accounts.
    return name === 'RATE_LIMIT_SIGNUP' ? serviceUnavailable() : 0
  })
  if (wait > 0) tooManyRequests(wait)
}

/** As consumeRateLimit, and then writes, in the same statement. A write that is refused counts as well. */
export const limitWrite = async (
  name: RateName,
  claims: Claims,
  write: (db: Rpc) => Promise<RpcResult>,
): Promise<RpcResult> => {
  const rate = settings[name]
  if (!rate) return await write(actAs(claims, true))
  const limit = [name, claims.sub, rate.seconds / rate.count, rate.burst]
  const result = await write(actAs(claims, true, limit)).catch(async (error) => {
    if (!isOfStatement(error)) throw error
    // The error has rolled the count back, or is of the count itself.
    await consumeRateLimit(name, claims.sub)
    // A refusal of ours, an impossible value or a time limit: another attempt would end in the same way.
    if (/^(PT...|22...|23...|57014|25P04)$/.test(error.code)) throw error
    return await write(actAs(claims, true))
  })
  return result.metadata.wait ? tooManyRequests(result.metadata.wait) : result
}
