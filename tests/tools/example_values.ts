const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** What moments become, by field, in an order that can be; the rest becomes the default. */
const moments: Record<string, string> = {
  date: '2026-05-14T16:00:00.000Z',
  ends_at: '2026-05-16T10:00:00.000Z',
  default: '2026-04-02T08:53:43.046Z',
}

/** Values that are different in every run, by field. */
const changing: Record<string, (value: unknown) => unknown> = {
  access_token: (value) => value && 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0YTNhZDJkNiJ9.ViMlPHIXlg6GD1Ot',
  refresh_token: (value) => value && '01a20548-64b5-7537-b660-1f265e3e25fc',
  cursor: () => 'KDYzLDVmMGM4YWQwLTQ',
  public_key: () => 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
  // How many are due depends on the time since the demo world was made.
  planned: () => 3,
  image_url: (value) => typeof value === 'string' ? value.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:54321') : value,
  pushes: () => 2,
  mails: () => 1,
  _rankingScore: (value) => Math.round(Number(value) * 100) / 100,
}

/**
 * An answer as an example: what differs between runs is replaced, and lists of more than five are cut to two. Moments
 * that a request names are kept.
 */
export const toExample = (value: unknown, requests: string, field = ''): unknown => {
  if (changing[field]) return changing[field](value)
  if (typeof value === 'string') {
    if (moment.test(value)) return requests.includes(value) ? value : moments[field] ?? moments.default
    // Those of a file for a calendar, and the service that it is from.
    return value.replace(/\d{8}T\d{6}Z/g, '20260514T160000Z').replace(/(?<=DTEND:\d{8}T)16/, '19').replace(
      /@127\.0\.0\.1:\d+/,
      '@127.0.0.1:54321',
    )
  }
  if (Array.isArray(value)) {
    return value.slice(0, value.length > 5 ? 2 : 5).map((item) => toExample(item, requests))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toExample(item, requests, name)]))
}

/** The metrics of which an example has enough. */
export const shortMetrics = (text: string): string =>
  text.split('\n').filter((line) => /\bdatabase_up\b/.test(line)).join('\n')
