import { type Answer, type Caller, Failure, type Json } from './fixture.ts'

/** The path of the next page, from the Link header, which is relative. */
const nextPath = (path: string, { headers }: Answer): string | undefined => {
  const link = headers.get('Link')
  if (link === null) return undefined
  const query = /^<(\?[^>]+)>; rel="next"$/.exec(link)?.[1]
  if (!query) throw new Failure(`${path} has the Link ${link}`)
  return path.replace(/\?.*|$/, query)
}

/** The bodies of all pages from this path on, as the Link headers lead; `meanwhile` runs between two pages. */
export const pagesOf = async (who: Caller, path: string, meanwhile?: () => Promise<unknown>): Promise<Json[][]> => {
  const pages: Json[][] = []
  for (let next: string | undefined = path; next;) {
    if (pages.length === 100) throw new Failure(`${path} has pages without end`)
    if (pages.length > 0) await meanwhile?.()
    const answer: Answer = await who.ask('GET', next)
    if (answer.status !== 200) throw new Failure(`${next}: ${answer.text}`)
    pages.push(answer.body)
    next = nextPath(next, answer)
  }
  return pages
}

export const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)
/** A list in pieces of this size. */
export const chunks = <Item>(all: Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
