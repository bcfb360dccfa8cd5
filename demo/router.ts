/** What people are looked for. What is empty is left out of the address. */
export interface Search {
  q: string
  interests: string[]
  cities: string[]
  countries: string[]
  /** The id of a profile: people like this one. */
  like: number | null
}

export type Route =
  | { page: 'inbox' | 'me' | 'unknown' }
  | { page: 'profile'; id: number }
  | { page: 'conversation'; id: number; message?: number }
  | { page: 'people'; search: Search }

export const everybody: Search = { q: '', interests: [], cities: [], countries: [], like: null }

const base = '/demo'
const folders = { c: 'conversation', people: 'profile' } as const

const idOf = (text: string): number | null => /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null

/** Which page an address names. An address that nobody has made is `unknown`. */
export const parseRoute = (address: string): Route => {
  const { pathname, searchParams } = new URL(address, 'http://localhost')
  const [first = '', second, ...others] = pathname.slice(base.length).split('/').slice(1)
  if (others.length) return { page: 'unknown' }
  if (second !== undefined) {
    const id = idOf(second)
    if (!id || !Object.hasOwn(folders, first)) return { page: 'unknown' }
    const page = folders[first as keyof typeof folders]
    const message = idOf(searchParams.get('message') ?? '')
    return page === 'conversation' && message ? { page, id, message } : { page, id }
  }
  if (first === '') return { page: 'inbox' }
  if (first === 'me') return { page: 'me' }
  if (first !== 'people') return { page: 'unknown' }
  const search = {
    q: searchParams.get('q') ?? '',
    interests: searchParams.getAll('interest'),
    cities: searchParams.getAll('city'),
    countries: searchParams.getAll('country'),
    like: idOf(searchParams.get('like') ?? ''),
  }
  return { page: 'people', search }
}

const formatSearch = ({ q, interests, cities, countries, like }: Search): string => {
  const parameters = new URLSearchParams()
  if (q.trim()) parameters.set('q', q)
  if (like) parameters.set('like', `${like}`)
  for (const [name, values] of Object.entries({ interest: interests, city: cities, country: countries })) {
    for (const value of values) parameters.append(name, value)
  }
  return parameters.size ? `?${parameters}` : ''
}

/** The address of a page, which parseRoute reads back. */
export const formatRoute = (route: Route): string => {
  if (route.page === 'conversation') return `${base}/c/${route.id}${route.message ? `?message=${route.message}` : ''}`
  if (route.page === 'profile') return `${base}/people/${route.id}`
  if (route.page === 'people') return `${base}/people${formatSearch(route.search)}`
  return route.page === 'me' ? `${base}/me` : base
}
