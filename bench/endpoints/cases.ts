/** What is asked: each endpoint as requests, as the statement that its door makes of them, and where there is one, as a peer's request. */
import { accountCases } from './cases/accounts.ts'
import { conversationCases } from './cases/conversations.ts'
import { peopleCases } from './cases/people.ts'
import { serviceCases } from './cases/service.ts'
import type { World } from './world.ts'

export interface Ask {
  user: number
  path: string
  body?: string
  /** In place of the user's own. */
  token?: string
}

export interface Case {
  name: string
  method: string
  /** Some thousand requests to draw from. */
  asks: Ask[]
  /** SQL before each run, so that there is as much left to do as there was. */
  before?: string
  /** Each of the requests can be made once, so they are made in order; pgbench's is number `:turn`, from 0. */
  once?: true
  /** The verb as the door calls it, in pgbench's words: who calls is `:user`, the conversation `:conversation`. */
  verb?: string
  /** Who calls, if not `:user`. */
  who?: string
  /** In place of a verb: the helper that the door calls as itself. */
  helper?: string
  /** What pgbench draws. */
  draw?: string
  bare?: string
  /** The same of the Data API, or of the Auth, of @supabase/lite. */
  peer?: (ask: Ask) => string
  /** Most of it is done by Auth, which is there once, on the data with policies. */
  withAuth?: true
}

export const drawn = <Value>(count: number, draw: () => Value): Value[] => Array.from({ length: count }, draw)
export const upTo = (count: number): number => 1 + Math.floor(Math.random() * count)
export const saying = (body: unknown): Pick<Ask, 'body'> => ({ body: JSON.stringify(body) })

/** Five thousand people, who all ask for one thing, and whom pgbench draws. */
export const asPerson = ({ users }: World, path: string): Ask[] => drawn(5000, () => ({ user: upTo(users), path }))
export const anybody = ({ users }: World): string => `\\set user random(1, ${users})`

/** In this order: what changes people comes late, and last who leaves. */
export const casesOf = async (world: World): Promise<Case[]> => [
  ...await conversationCases(world),
  ...serviceCases(),
  ...peopleCases(world),
  ...accountCases(world),
]

/** The statement of functions/_shared/database.ts. pgbench cannot put a variable into a string, so Postgres does. */
export const statementOf = ({ verb, who = ':user', helper }: Case): string | undefined => {
  if (helper) return `select private.${helper}::text as body`
  const claims =
    `('{"sub": "00000000-0000-4000-8000-000000' || (100000 + ${who})::text || '", "role": "authenticated"}')`
  return verb && `select reply.body, current_setting('api.aside', true) as aside
    from (select case when private.act_as(${claims}::jsonb, true) then api.${verb}::text end as body) as reply`
}
