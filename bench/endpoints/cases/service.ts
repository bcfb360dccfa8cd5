import type { Case, CaseRequest } from './case.ts'
import { secretKey } from '../keys.ts'

const withSecretKey = (path: string): CaseRequest[] => [{ user: 1, path, token: secretKey }]

export const serviceCases = (): Case[] => [
  {
    name: 'GET /health',
    method: 'GET',
    requests: [{ user: 1, path: '/health' }],
    serviceFunction: 'describe_search()',
  },
  {
    name: 'GET /health/metrics',
    method: 'GET',
    requests: withSecretKey('/health/metrics'),
    serviceFunction: 'describe_service()',
  },
  {
    name: 'POST /embed, nothing due',
    method: 'POST',
    requests: withSecretKey('/embed'),
    setup: 'delete from private.embedding_queue',
    serviceFunction: `claim_embeddings('none', 64)`,
  },
]
