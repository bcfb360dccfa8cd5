/** What is asked: each endpoint as requests, as the statement that its door makes of them, and where there is one, as a peer's request. */
import { accountCases } from './cases/accounts.ts'
import type { Case } from './cases/case.ts'
import { conversationCases } from './cases/conversations.ts'
import { peopleCases } from './cases/people.ts'
import { serviceCases } from './cases/service.ts'
import type { World } from './world.ts'

/** In this order: what changes people comes late, and last who leaves. */
export const casesOf = async (world: World): Promise<Case[]> => [
  ...await conversationCases(world),
  ...serviceCases(),
  ...peopleCases(world),
  ...accountCases(world),
]

/** The statement of functions/_shared/rpc.ts. pgbench cannot put a variable into a string, so Postgres does. */
export const statementOf = ({ verb, who = ':user', caller, helper }: Case): string | undefined => {
  if (helper) return `select private.${helper}::text as body`
  const claims = caller === 'nobody'
    ? 'null'
    : `('{"sub": "00000000-0000-4000-8000-000000' || (100000 + ${who})::text || '", "role": "authenticated"}')::jsonb`
  return verb && `select reply.body, current_setting('api.response_metadata', true) as aside
    from (select case when private.act_as(${claims}, ${!caller}) then api.${verb}::text end as body) as reply`
}
