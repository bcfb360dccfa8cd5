import { asService } from './rpc.ts'
import { log } from './log.ts'
import { serviceUnavailable, tooManyRequests } from './errors.ts'
import { type Rate, type RateName, rateNames, rateOf } from './rates.ts'

// Read as the function starts, so that a bad setting shows there and then.
const rates = new Map(rateNames.map((name) => [name, rateOf(name, Deno.env.get(name))]))

const silences = new Set(['NO_ANSWER', 'CONNECT_TIMEOUT', '57014'])

type Take = (secondsEach: number, burst: number) => Promise<string>

const pass = async (name: RateName, take: Take, orElse: () => void): Promise<void> => {
  const rate: Rate | null = rates.get(name)!
  if (!rate) return
  const wait = await take(rate.seconds / rate.count, rate.burst).then(Number).catch(({ name: kind, code, status }) => {
    log('warn', 'A limit was not counted', { limit: name, kind, code })
    // Nor would the verb be answered, for which nobody should have to wait as long again.
    if (silences.has(code) || status === 503) serviceUnavailable()
    orElse()
    return 0
  })
  if (wait > 0) tooManyRequests(wait)
}

// A statement of its own, before the verb's: what the verb then refuses has been counted all the same, and nobody waits for a count longer
// than it takes to count. Where counting fails people are let through, for then a service without limits is better than none.
const letThrough = () => {}

/** Takes one of somebody's turns, or refuses with 429. */
export const consumeRateLimit = (name: RateName, who: string): Promise<void> =>
  pass(name, (each, burst) => asService`consume_rate_limit(${name}, ${who}, ${each}, ${burst})`, letThrough)

/** As consumeRateLimit, to send a message; one sent before under the same key takes none. */
export const consumeSend = (account: string, key: string | null): Promise<void> =>
  pass(
    'RATE_LIMIT_SEND',
    (each, burst) => asService`consume_send_limit(${account}, ${key}, ${each}, ${burst})`,
    letThrough,
  )

/** As consumeRateLimit, to sign up: where counting fails, nobody does, for there a machine could make accounts without end. */
export const consumeSignUp = (address: string): Promise<void> =>
  pass(
    'RATE_LIMIT_SIGNUP',
    (each, burst) => asService`consume_rate_limit(${'RATE_LIMIT_SIGNUP'}, ${address}, ${each}, ${burst})`,
    serviceUnavailable,
  )
