const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Values that are different in every run, by field. */
const changing: Record<string, (value: unknown) => unknown> = {
  access_token: (value) => value && 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0YTNhZDJkNiJ9.ViMlPHIXlg6GD1Ot',
  refresh_token: (value) => value && '01a20548-64b5-7537-b660-1f265e3e25fc',
  _rankingScore: (value) => Math.round(Number(value) * 100) / 100,
}

/**
 * An answer as an example: what differs between runs is replaced, and lists of more than five are cut to two. Moments
 * that the request has named are kept.
 */
export const toExample = (value: unknown, request: string, field = ''): unknown => {
  if (changing[field]) return changing[field](value)
  if (typeof value === 'string') {
    return moment.test(value) && !request.includes(value) ? '2026-04-02T08:53:43.046Z' : value
  }
  if (Array.isArray(value)) {
    return value.slice(0, value.length > 5 ? 2 : 5).map((item) => toExample(item, request))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toExample(item, request, name)]))
}

/** The metrics of which an example has enough. */
export const shortMetrics = (text: string): string =>
  text.split('\n').filter((line) => /\bdatabase_up\b/.test(line)).join('\n')
