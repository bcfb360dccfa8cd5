/** The page is in English, with the clock and the order of day and month of where the browser's user is from. */
const languageOf = (tag: string): string[] => {
  try {
    return [`en-${new Intl.Locale(tag).maximize().region ?? '001'}`]
  } catch {
    // WebKit on Linux passes on a locale of the system as it is, such as "C".
    return []
  }
}
export const language = navigator.languages.flatMap(languageOf)
const dateFormat = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options)
// 8:30 PM and 08:30, as both are written.
const { hour12 } = dateFormat({ hour: 'numeric' }).resolvedOptions()
const clock = { hour: hour12 ? 'numeric' : '2-digit', minute: '2-digit' } as const

const day = dateFormat({ weekday: 'long', day: 'numeric', month: 'long' })
const shortDay = dateFormat({ day: 'numeric', month: 'short' })
const shortDayOfYear = dateFormat({ day: 'numeric', month: 'short', year: 'numeric' })
const whole = dateFormat({ dateStyle: 'full', timeStyle: 'long' })
const month = dateFormat({ month: 'long', year: 'numeric' })
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })

export const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

const daysAgo = (moment: Date): number => {
  const midnight = (of: Date) => new Date(of).setHours(0, 0, 0, 0)
  return Math.round((midnight(new Date()) - midnight(moment)) / 86_400_000)
}
const isThisYear = (moment: Date): boolean => moment.getFullYear() === new Date().getFullYear()
const capitalize = (text: string): string => text.charAt(0).toLocaleUpperCase() + text.slice(1)

/** Whether this browser knows a time zone: Europe/Kyiv is younger than some. */
export const isZone = (zone: string): boolean => {
  try {
    return Boolean(dateFormat({ timeZone: zone }))
  } catch {
    return false
  }
}
export const formatTime = (timestamp: string, zone = timeZone): string =>
  dateFormat({ ...clock, timeZone: zone }).format(new Date(timestamp))
/** The whole date and time with its zone, for a title. */
export const formatWhole = (timestamp: string): string => whole.format(new Date(timestamp))
export const formatMonth = (timestamp: string): string => month.format(new Date(timestamp))

/** The operator's, for all prices. Until it has been read that of ISO 4217 for none. */
export let currency = 'XXX'
export const setCurrency = (code: string) => currency = code
/** With the decimals of its currency, and those that an amount has besides. */
export const formatPrice = (amount: number): string =>
  amount === 0
    ? 'free'
    : new Intl.NumberFormat(language, { style: 'currency', currency, maximumFractionDigits: 3 }).format(amount)

/** How these moments are written, with the year where it is another than this. */
const momentOptions = (moments: Date[]): Intl.DateTimeFormatOptions => ({
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  ...(!moments.every(isThisYear) && { year: 'numeric' }),
  ...clock,
})

const zoneName: Intl.DateTimeFormatOptions = { timeZoneName: 'short' }
/** The beginning, and the end if there is one, with the time zone of the browser. */
export const formatPeriod = (from: string, until: string | null, options = zoneName): string => {
  const [begin, end] = [new Date(from), new Date(until ?? from)]
  const format = dateFormat({ ...momentOptions([begin, end]), ...options })
  return until ? format.formatRange(begin, end) : format.format(begin)
}
/** The same by the clocks of another time zone; null where they show what this one's show. */
export const formatPeriodIn = (zone: string, from: string, until: string | null): string | null => {
  const there = formatPeriod(from, until, { timeZone: zone })
  return there === formatPeriod(from, until, {}) ? null : there
}

/** Writes these timestamps so that they can be told apart: within six days by the day of the week. */
export const momentFormat = (timestamps: string[]) => {
  const moments = timestamps.map((timestamp) => new Date(timestamp))
  const times = moments.map(Number)
  const isNear = Math.max(...times) - Math.min(...times) < 6 * 86_400_000
  const format = dateFormat(isNear ? { weekday: 'short', ...clock } : momentOptions(moments))
  return (timestamp: string): string => format.format(new Date(timestamp))
}

/** "Today", "Yesterday" or the date, for the separators between messages. */
export const formatDay = (timestamp: string, ofThisYear = day): string => {
  const moment = new Date(timestamp)
  const ago = daysAgo(moment)
  if (ago === 0 || ago === 1) return capitalize(relative.format(-ago, 'day'))
  return (isThisYear(moment) ? ofThisYear : shortDayOfYear).format(moment)
}

/** As of when what is shown without a network was read, and why it is not newer. */
export const formatAsOf = (timestamp: string): string => {
  const now = new Date()
  const moment = daysAgo(new Date(timestamp)) ? momentFormat([timestamp, now.toISOString()]) : formatTime
  return `As of ${moment(timestamp)}. No network.`
}

/** The time, "Yesterday" or a short date, for the list of conversations. */
export const formatShort = (timestamp: string): string =>
  daysAgo(new Date(timestamp)) === 0 ? formatTime(timestamp) : formatDay(timestamp, shortDay)

/** A timestamp as a datetime-local control has it, in the time zone of the browser, and back. */
export const toLocal = (timestamp: string | null): string => {
  if (!timestamp) return ''
  const moment = new Date(timestamp)
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
export const toTimestamp = (local: string): string | null => local ? new Date(local).toISOString() : null

const units = ['byte', 'kilobyte', 'megabyte'] as const
/** A number of bytes in the largest unit that it reaches. */
export const formatSize = (bytes: number): string => {
  const power = Math.max(0, Math.min(2, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)))
  const options = { style: 'unit', unit: units[power]!, maximumFractionDigits: power === 2 ? 1 : 0 } as const
  return new Intl.NumberFormat(language, options).format(bytes / 1000 ** power)
}

export const pluralize = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
