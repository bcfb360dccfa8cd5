import type { Ask, Case } from './case.ts'
import { secretKey } from '../keys.ts'

const asSecret = (path: string): Ask[] => [{ user: 1, path, token: secretKey }]

export const serviceCases = (): Case[] => [
  { name: 'GET /health', method: 'GET', asks: [{ user: 1, path: '/health' }], helper: 'count_pending_embeddings()' },
  { name: 'GET /health/metrics', method: 'GET', asks: asSecret('/health/metrics'), helper: 'describe_search()' },
  {
    name: 'POST /embed, nothing due',
    method: 'POST',
    asks: asSecret('/embed'),
    before: 'delete from private.embedding_queue',
    helper: `claim_embeddings('none', 64)`,
  },
]
