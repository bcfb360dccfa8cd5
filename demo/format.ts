// The page is in English. Dates, times and numbers are written as the browser's user has set it up.
// WebKit on Linux passes on a locale of the system as it is, and Intl throws at one like "C".
const isLanguage = (tag: string): boolean => {
  try {
    return Intl.getCanonicalLocales(tag).length > 0
  } catch {
    return false
  }
}
export const language = navigator.languages.filter(isLanguage)
const dateFormat = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options)
const clock = { hour: '2-digit', minute: '2-digit' } as const

const time = dateFormat(clock)
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

export const formatTime = (timestamp: string): string => time.format(new Date(timestamp))
/** The whole date and time with its zone, for a title. */
export const formatWhole = (timestamp: string): string => whole.format(new Date(timestamp))
export const formatMonth = (timestamp: string): string => month.format(new Date(timestamp))

const price = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
/** The service knows no currency: the two agree on one. */
export const formatPrice = (amount: number): string => amount === 0 ? 'free' : price.format(amount)

/** The beginning, and the end if there is one, with the time zone of the browser. */
export const formatPeriod = (from: string, until: string | null): string => {
  const [begin, end] = [new Date(from), new Date(until ?? from)]
  const format = dateFormat({
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...(!(isThisYear(begin) && isThisYear(end)) && { year: 'numeric' }),
    ...clock,
    timeZoneName: 'short',
  })
  return until ? format.formatRange(begin, end) : format.format(begin)
}

/** "Today", "Yesterday" or the date, for the separators between messages. */
export const formatDay = (timestamp: string): string => {
  const moment = new Date(timestamp)
  const ago = daysAgo(moment)
  if (ago === 0 || ago === 1) return capitalize(relative.format(-ago, 'day'))
  return isThisYear(moment) ? day.format(moment) : shortDayOfYear.format(moment)
}

/** The time, "Yesterday" or a short date, for the list of conversations. */
export const formatShort = (timestamp: string): string => {
  const moment = new Date(timestamp)
  const ago = daysAgo(moment)
  if (ago === 0) return time.format(moment)
  if (ago === 1) return capitalize(relative.format(-1, 'day'))
  return (isThisYear(moment) ? shortDay : shortDayOfYear).format(moment)
}

const units = ['byte', 'kilobyte', 'megabyte'] as const
/** A number of bytes in the largest unit that it reaches. */
export const formatSize = (bytes: number): string => {
  const power = Math.max(0, Math.min(2, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)))
  const options = { style: 'unit', unit: units[power]!, maximumFractionDigits: power === 2 ? 1 : 0 } as const
  return new Intl.NumberFormat(language, options).format(bytes / 1000 ** power)
}

export const pluralize = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
