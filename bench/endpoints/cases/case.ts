import type { World } from '../world.ts'

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
  /** Doors to which a token is no matter, or which go on without one. */
  caller?: 'nobody' | 'maybe'
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

/** Five thousand times somebody who asks for one thing. */
export const asPerson = ({ users }: World, path: string): Ask[] => drawn(5000, () => ({ user: upTo(users), path }))
/** The same of pgbench. */
export const anybody = ({ users }: World): string => `\\set user random(1, ${users})`

/** Whom nobody knows yet: world.sql leaves the next ten of each person strangers. In TypeScript, and in what pgbench and Postgres reckon. */
export const strangerOf = ({ users }: World, user: number, next = 0): number => 1 + (user + 2000 + next) % users
export const sqlStrangerOf = ({ users }: World, user: string, next = '0'): string =>
  `1 + (${user} + 2000 + ${next}) % ${users}`
