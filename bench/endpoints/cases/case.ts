import type { Fixture } from '../fixture.ts'

export interface CaseRequest {
  user: number
  path: string
  body?: string
  /** Sent instead of the user's own token. */
  token?: string
}

export interface Case {
  name: string
  method: string
  /** Some thousand requests to choose from. */
  requests: CaseRequest[]
  /** SQL to run before each run, which restores the initial state. */
  setup?: string
  /** Each request can be made only once, so they run in order. pgbench's number of the request is `:index`, from 0. */
  once?: true
  /**
   * The API function as the Edge Function calls it, in pgbench's syntax: `:user` is the caller, `:conversation` theirs.
   */
  rpc?: string
  /** The SQL expression for the caller's id, if not `:user`. */
  callerId?: string
  /** Endpoints that ignore the token, or that work without one too. */
  auth?: 'none' | 'optional'
  /** Instead of `rpc`: the private function that the Edge Function calls as itself. */
  serviceFunction?: string
  /** pgbench's `\set` commands. */
  variables?: string
  bareSql?: string
  /** The path of the same request to the Data API or the Auth of @supabase/lite. */
  litePath?: (request: CaseRequest) => string
  /** Auth does most of the work. There is one Auth, on the database with policies. */
  usesAuth?: true
}

export const repeat = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index))
export const randomUpTo = (count: number): number => 1 + Math.floor(Math.random() * count)
export const json = (body: unknown): Pick<CaseRequest, 'body'> => ({ body: JSON.stringify(body) })

interface RandomUserOptions {
  body?: () => unknown
  /** pgbench's variables in addition to `:user`. */
  variables?: string
}

export const casesFor = ({ users }: Fixture) => ({
  /** The same request of 5,000 random users, for wrk and pgbench. */
  byRandomUsers: (method: string, path: string, { body, variables = '' }: RandomUserOptions = {}) => ({
    method,
    requests: repeat(5000, () => ({ user: randomUpTo(users), path, ...(body && json(body())) })),
    variables: `\\set user random(1, ${users})\n${variables}`,
  }),
  /** A user without a conversation with this one: fixture.sql leaves ten for each. In TypeScript and in SQL. */
  newPartnerOf: (user: number, next = 0): number => 1 + (user + 2000 + next) % users,
  sqlNewPartnerOf: (user: string, next = '0'): string => `1 + (${user} + 2000 + ${next}) % ${users}`,
})
