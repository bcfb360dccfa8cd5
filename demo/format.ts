// The page is in English, so its dates are too.
const language = 'en-GB'
const time = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(language, { weekday: 'long', day: 'numeric', month: 'long' })
const shortDay = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' })
const date = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })

const daysAgo = (moment: Date): number => {
  const midnight = (of: Date) => new Date(of).setHours(0, 0, 0, 0)
  return Math.round((midnight(new Date()) - midnight(moment)) / 86_400_000)
}

export const formatTime = (timestamp: string): string => time.format(new Date(timestamp))
export const formatDate = (timestamp: string): string => date.format(new Date(timestamp))

const price = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
/** The service knows no currency: the two agree on one. */
export const formatPrice = (amount: number): string => amount === 0 ? 'free' : price.format(amount)

/** The beginning, and the end if there is one, in the time zone of the browser. */
export const formatPeriod = (from: string, until: string | null): string => {
  if (!until) return formatDate(from)
  const isSameDay = new Date(from).toDateString() === new Date(until).toDateString()
  return `${formatDate(from)} – ${isSameDay ? formatTime(until) : formatDate(until)}`
}

/** "Today", "Yesterday" or the date, for the separators between messages. */
export const formatDay = (timestamp: string): string => {
  const moment = new Date(timestamp)
  return ['Today', 'Yesterday'][daysAgo(moment)] ?? day.format(moment)
}

/** The time, "Yesterday" or a short date, for the list of conversations. */
export const formatShort = (timestamp: string): string => {
  const moment = new Date(timestamp)
  const ago = daysAgo(moment)
  return ago === 0 ? time.format(moment) : ago === 1 ? 'Yesterday' : shortDay.format(moment)
}

export const pluralize = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
