/**
 * The endpoints as HTTP requests, as the statements of the Edge Functions, and, where possible, as requests to
 * @supabase/lite.
 */
import { accountCases } from './cases/accounts.ts'
import type { Case } from './cases/case.ts'
import { conversationCases } from './cases/conversations.ts'
import { peopleCases } from './cases/people.ts'
import { serviceCases } from './cases/service.ts'
import type { Fixture } from './fixture.ts'

/** Cases that change users come late, and the one that deletes them last. */
export const casesOf = async (fixture: Fixture): Promise<Case[]> => [
  ...await conversationCases(fixture),
  ...serviceCases(),
  ...peopleCases(fixture),
  ...accountCases(fixture),
]

/**
 * The statement of functions/_shared/rpc.ts. Postgres builds the claims, because pgbench cannot put a variable into a
 * string.
 */
export const statementOf = ({ rpc, callerId = ':user', auth, serviceFunction }: Case): string | undefined => {
  if (serviceFunction) return `select private.${serviceFunction}::text as body`
  const claims = auth === 'none'
    ? 'null'
    : `('{"sub": "00000000-0000-4000-8000-000000' || (100000 + ${callerId})::text ||
      '", "role": "authenticated"}')::jsonb`
  return rpc && `select reply.body, current_setting('api.response_metadata', true) as metadata
    from (select case when private.act_as(${claims}, ${!auth}) then api.${rpc}::text end as body) as reply`
}
