import { Hono } from 'hono'
import { asUser, requireUser } from '../_shared/auth.ts'
import { sendJson, sendNothing, sendPage } from '../_shared/app.ts'
import { route } from '../_shared/openapi.ts'
import { idempotencyHeader } from '../_shared/schemas/conversations.ts'
import * as reports from '../_shared/schemas/reports.ts'
import * as shape from '../_shared/schemas/users.ts'
import { writeOnce } from '../_shared/write_once.ts'

export const safety = new Hono()

safety.get(
  '/me/reports',
  route('listMyReports', "A page of the caller's reports, newest first; the Link header names the next one", {
    200: [reports.myReport.array(), 'Link'],
  }),
  asUser({ query: reports.reportPage }),
  async (c) => sendPage(c, await c.var.db`list_my_reports(${c.var.query})`, c.var.query),
)

safety.post(
  '/me/reports',
  route('reportPerson', 'Report a person or a message to the moderators; with an Idempotency-Key, exactly once', {
    200: [reports.report, 'Idempotency-Replayed'],
    201: [reports.report, 'Idempotency-Replayed'],
    404: 'No such user, or no such message in a conversation of the caller',
    422: 'The Idempotency-Key was used with another payload',
  }, ['invalid', 'too_many']),
  asUser({ headers: idempotencyHeader, json: reports.newReport }),
  (c) => writeOnce(c, c.var, 'RATE_LIMIT_REPORT', (db, draft) => db`report_person(${draft})`),
)

safety.get(
  '/me/blocks',
  route('listBlocks', 'The users whom the caller has blocked, latest first', { 200: shape.block.array() }),
  requireUser,
  async (c) => sendJson(c, await c.var.db`list_blocks()`),
)

safety.put(
  '/me/blocks/:user_id',
  route('blockUser', 'Block a user: stops new conversations, messages and search hits both ways', {
    204: 'Blocked',
    404: 'No such user',
  }, ['invalid', 'too_many']),
  asUser({ params: shape.blockParam }, 'RATE_LIMIT_BLOCK'),
  async (c) => sendNothing(c, await c.var.db`block_person(${c.var.params.user_id})`),
)

safety.delete(
  '/me/blocks/:user_id',
  route('unblockUser', 'Unblock a user', { 204: 'Not blocked', 404: 'No such user' }),
  asUser({ params: shape.blockParam }, 'RATE_LIMIT_BLOCK'),
  async (c) => sendNothing(c, await c.var.db`unblock_person(${c.var.params.user_id})`),
)
