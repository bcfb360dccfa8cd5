import type { Context } from 'hono'
import { sendJson } from './app.ts'
import { httpError } from './errors.ts'
import { limitWrite } from './rate_limit.ts'
import type { Rpc, RpcResult } from './rpc.ts'
import type { RateName } from './setting_rules.ts'
import type { Claims } from './token.ts'

type Input = { claims: Claims; headers: { 'idempotency-key'?: string }; json: { client_id?: string | null } }

/** Creates what the body says within a rate limit; with an idempotency key once: a repeat gets the first answer. */
export const writeOnce = async (
  c: Context,
  { claims, headers: { 'idempotency-key': fromHeader }, json }: Input,
  limit: RateName,
  write: (db: Rpc, draft: object) => Promise<RpcResult>,
): Promise<Response> => {
  const { client_id: fromBody } = json
  if (fromHeader && fromBody && fromHeader !== fromBody) {
    httpError('invalid', 'client_id: differs from the Idempotency-Key header')
  }
  const draft = { ...json, client_id: fromBody ?? fromHeader ?? null }
  const result = await limitWrite(limit, claims, (db) => write(db, draft))
  if (result.metadata.replayed) c.header('Idempotency-Replayed', 'true')
  return sendJson(c, result, result.metadata.existing ? 200 : 201)
}
