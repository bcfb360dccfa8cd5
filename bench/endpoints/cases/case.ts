import type { Fixture } from '../fixture.ts'

export interface CaseRequest {
  user: number
  path: string
  body?: string
}

/** An endpoint as HTTP requests, as the statement of its Edge Function, and as requests to @supabase/lite. */
export interface Case {
  name: string
  method: string
  /** Some thousand requests to choose from. */
  requests: CaseRequest[]
  /** Each request can be made only once, so they run in order. pgbench's number of the request is `:index`, from 0. */
  once?: true
  /**
   * The API function as the Edge Function calls it, in pgbench's syntax: `:user` is the caller, `:conversation` theirs.
   */
  rpc: string
  /** Endpoints that ignore the token, or that work without one too. */
  auth?: 'none' | 'optional'
  /** pgbench's `\set` commands. */
  variables: string
  /** The path of the same request to the Data API of @supabase/lite. */
  litePath?: (request: CaseRequest) => string
}

/**
 * The statement of functions/_shared/rpc.ts. Postgres builds the claims, because pgbench cannot put a variable into a
 * string.
 */
export const statementOf = ({ rpc, auth }: Case): string => {
  const claims = auth === 'none'
    ? 'null'
    : `('{"sub": "00000000-0000-4000-8000-000000' || (100000 + :user)::text || '", "role": "authenticated"}')::jsonb`
  return `select reply.body, current_setting('api.response_metadata', true) as metadata
    from (select case when private.act_as(${claims}, ${!auth}) then api.${rpc}::text end as body) as reply`
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

/** The same request of 5,000 random users, for wrk and pgbench. */
export const byRandomUsers = (
  { users }: Fixture,
  method: string,
  path: string,
  { body, variables = '' }: RandomUserOptions = {},
) => ({
  method,
  requests: repeat(5000, () => ({ user: randomUpTo(users), path, ...(body && json(body())) })),
  variables: `\\set user random(1, ${users})\n${variables}`,
})
