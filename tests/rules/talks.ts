/** What people do in most rules about conversations, and pages of lists. */
import { type Answer, asAdmin, type Caller, is, type Json, people, type Person, sql, talk } from './fixture.ts'

/** Ids of nobody and nothing. */
export const unknown = [999_999_999, Number.MAX_SAFE_INTEGER]

/** Ana has opened a conversation with Ben, and Cat one with Ana. Dan has none. */
export const meet = async () => {
  const [ana, ben, cat, dan] = await people('ana', 'ben', 'cat', 'dan')
  return { ana, ben, cat, dan, ab: await talk(ana, ben), ca: await talk(cat, ana) }
}
/** Somebody with so many conversations, as voyager and local in turn, opened then, or the latest first. */
export const hostOf = async (count: number, createdAt: string | null = null) => {
  const [host] = await people('host')
  const ids: number[] = await sql(
    `with guests as (
       insert into public.users (name, email) select 'Guest ' || n, '' from generate_series(1, $2::integer) as n
       returning id
     )
     insert into public.conversations (voyager_id, local_id, created_at)
     select
       case id % 2 when 0 then id else $1 end, case id % 2 when 0 then $1 else id end,
       coalesce($3, now() - (id - min(id) over ()) * interval '1 minute')
     from guests returning id`,
    [host.id, count, createdAt],
  )
  return { host, ids, paths: ids.map((id) => `/conversations/${id}`) }
}
/** Sends a message with this content, or with these fields. */
export const send = (who: Caller, path: string, draft: Json = 'Hello', status = 201, expected?: Json): Promise<Json> =>
  who.post(`${path}/messages`, typeof draft === 'string' ? { content: draft } : draft, status, expected)
export const block = (who: Person, other: Person) => who.put(`/users/me/blocks/${other.id}`, undefined, 204)
export const unblock = (who: Person, other: Person) => who.delete(`/users/me/blocks/${other.id}`)
export const activate = ({ id }: Person, isActive: boolean) =>
  asAdmin('update public.users set is_active = $2 where id = $1', [id, isActive])

/** The path of the next page, from the Link header, which is relative. */
const nextPath = (path: string, { headers }: Answer): string | undefined => {
  const query = /^<(\?[^>]+)>; rel="next"$/.exec(headers.get('Link') ?? '')?.[1]
  return query && path.replace(/\?.*|$/, query)
}
/** The bodies of all pages from this path on, as the Link headers lead; `meanwhile` runs between two pages. */
export const pagesOf = async (who: Caller, path: string, meanwhile?: () => Promise<unknown>): Promise<Json[][]> => {
  const pages: Json[][] = []
  for (let next: string | undefined = path; next;) {
    is(pages.length < 100, true, `${path} has pages without end`)
    if (pages.length > 0) await meanwhile?.()
    const answer: Answer = await who.ask('GET', next)
    is(answer.status, 200, answer.text)
    pages.push(answer.body)
    next = nextPath(next, answer)
  }
  return pages
}
/** Each of these queries is refused, naming its first parameter. */
export const refusesQueries = async (who: Caller, path: string, ...queries: string[]): Promise<void> => {
  for (const query of queries) await who.get(`${path}?${query}`, 400, query.split('=')[0])
}
export const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)
export const chunks = <Item>(all: Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
