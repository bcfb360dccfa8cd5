// The page is in English; its dates are too.
const language = 'en-GB'
const time = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(language, { weekday: 'long', day: 'numeric', month: 'long' })
const shortDay = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' })
const date = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })

const daysAgo = (moment: Date): number => {
  const midnight = (of: Date) => new Date(of).setHours(0, 0, 0, 0)
  return Math.round((midnight(new Date()) - midnight(moment)) / 86_400_000)
}

export const timeOf = (timestamp: string): string => time.format(new Date(timestamp))
export const dateOf = (timestamp: string): string => date.format(new Date(timestamp))

/** The day of a message, as people say it. */
export const dayOf = (timestamp: string): string => {
  const moment = new Date(timestamp)
  return ['Today', 'Yesterday'][daysAgo(moment)] ?? day.format(moment)
}

/** When a conversation was last heard of, in a few letters. */
export const lately = (timestamp: string): string => {
  const moment = new Date(timestamp)
  const ago = daysAgo(moment)
  return ago === 0 ? time.format(moment) : ago === 1 ? 'Yesterday' : shortDay.format(moment)
}

export const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`
