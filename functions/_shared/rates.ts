/** `count` requests in `seconds`, at most `burst` of them at once. */
export interface Rate {
  count: number
  seconds: number
  burst: number
}

const defaults = {
  RATE_LIMIT_SEND: '60/60/10',
  RATE_LIMIT_OPEN: '20/3600',
  RATE_LIMIT_RESERVE: '60/3600/20',
  RATE_LIMIT_REPORT: '20/3600',
  RATE_LIMIT_SEARCH: '120/60',
  RATE_LIMIT_SEARCH_ANONYMOUS: '30/60',
  RATE_LIMIT_SIGNUP: '10/3600',
  RATE_LIMIT_LOGIN: '30/300',
  RATE_LIMIT_REFRESH: '150/300',
  RATE_LIMIT_RECOVER: '10/3600',
  RATE_LIMIT_PROFILE: '120/3600/30',
  RATE_LIMIT_STATE: '120/60/20',
  RATE_LIMIT_BLOCK: '100/3600/20',
  RATE_LIMIT_DEVICE: '60/3600/20',
  RATE_LIMIT_EXPORT: '10/3600',
}

export type RateName = keyof typeof defaults
export const rateNames = Object.keys(defaults) as RateName[]

const format = /^([1-9]\d{0,5})\/([1-9]\d{0,5})(?:\/([1-9]\d{0,5}))?$/

/** `60/60` allows the whole count at once, `60/60/10` ten at once, `off` is null. Throws for any other value. */
export const parseRate = (name: RateName, value: string | undefined): Rate | null => {
  const text = value || defaults[name]
  if (text === 'off') return null
  const [, count, seconds, burst = count] = format.exec(text) ?? []
  if (!count || Number(burst) > Number(count)) {
    throw new Error(`${name} is "${text}", and must be count/seconds, count/seconds/burst or off`)
  }
  return { count: Number(count), seconds: Number(seconds), burst: Number(burst) }
}
