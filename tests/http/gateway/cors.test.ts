import { describe, expect, inject, test } from 'vitest'
import { send } from '../../tools/raw_request.ts'
import { uniqueEmail } from '../../tools/people.ts'

const { publishableKey } = inject('stack')

describe('CORS', () => {
  const elsewhere = { Origin: 'https://app.example' }
  const key = { ...elsewhere, apikey: publishableKey, 'Content-Type': 'application/json' }

  test('every response of Auth, the Data API and Realtime is readable, errors included', async () => {
    const account = JSON.stringify({ email: uniqueEmail(), password: 'correct horse', data: { name: 'Ana' } })
    const large = '1'.repeat(1_100_000)
    const requests: [number, string, Record<string, string>, string?, string?][] = [
      [200, '/auth/v1/signup', key, 'POST', account],
      [422, '/auth/v1/signup', key, 'POST', account],
      [200, '/auth/v1/token?grant_type=password', key, 'POST', account],
      [400, '/auth/v1/token?grant_type=password', key, 'POST', '{"email":"a@example.com","password":"wrong"}'],
      [400, '/auth/v1/token?grant_type=refresh_token', key, 'POST', '{"refresh_token":"x"}'],
      [400, '/auth/v1/token?grant_type=password', key, 'POST', '{"email":5}'],
      [400, '/auth/v1/signup', key, 'POST', '{'],
      [413, '/auth/v1/signup', key, 'POST', large],
      [401, '/auth/v1/signup', elsewhere, 'POST', account],
      [401, '/auth/v1/user', key],
      [401, '/auth/v1/logout', key, 'POST'],
      [401, '/auth/v1/nothing', key],
      [405, '/auth/v1/signup', key],
      [200, '/auth/v1/health', key],
      [200, '/rest/v1/interests?limit=1', key],
      [401, '/rest/v1/interests', elsewhere],
      [401, '/rest/v1/interests', { ...elsewhere, apikey: 'sb_publishable_wrong' }],
      [401, '/rest/v1/users', { ...key, Authorization: 'Bearer x' }],
      [400, '/rest/v1/interests?name=match.a', key],
      [404, '/rest/v1/nothing', key],
      [413, '/rest/v1/interests', key, 'POST', large],
      [400, '/rest/v1/%2575sers', key],
      [426, '/realtime/v1/websocket', key],
      [404, '/realtime/v1/nothing', key],
    ]
    for (const [status, path, headers, method, body] of requests) {
      const answer = await send(path, headers, method, body)
      expect([path, answer.status, answer.headers['access-control-allow-origin']]).toEqual([path, status, '*'])
      // Cookies must not count for another origin.
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
      if (!path.includes('%')) expect(answer.headers['access-control-expose-headers']).toMatch(/X-Sb-Error-Code/)
    }
  })

  test.each(['/auth/v1/signup', '/auth/v1/token', '/auth/v1/logout', '/rest/v1/users'])(
    'the preflight of %s succeeds',
    async (path) => {
      const names = 'authorization,apikey,content-type,x-client-info,x-supabase-api-version,prefer,accept-profile'
      const preflight = { 'Access-Control-Request-Method': 'PATCH', 'Access-Control-Request-Headers': names }
      const { status, headers } = await send(path, { ...elsewhere, ...preflight }, 'OPTIONS')
      expect([status, headers['access-control-allow-origin']]).toEqual([204, '*'])
      expect(headers['access-control-allow-methods']).toContain('PATCH')
      expect(String(headers['access-control-allow-headers']).toLowerCase().split(/, */)).toEqual(names.split(','))
      expect(headers['access-control-allow-credentials']).toBeUndefined()
    },
  )
})
