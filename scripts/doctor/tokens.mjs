import { createHmac } from 'node:crypto'

const encode = (part) => Buffer.from(JSON.stringify(part)).toString('base64url')

// The secret in the documentation of self-hosted Supabase, which projects have been run with.
const knownSecret = 'super-secret-jwt-token-with-at-least-32-characters-long'

const claimsOf = (role) => ({
  aud: role,
  role,
  sub: '00000000-0000-4000-8000-000000000001',
  iat: Math.floor(Date.now() / 1000) - 10,
  exp: Math.floor(Date.now() / 1000) + 3600,
})

/** Tokens of a role that no project may accept. */
export const forgedTokens = (role) => {
  const unsigned = `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claimsOf(role))}.`
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claimsOf(role))}`
  const signature = createHmac('sha256', knownSecret).update(content).digest('base64url')
  return { 'an unsigned token': unsigned, 'a token signed with a published secret': `${content}.${signature}` }
}

/** The claims of a token, unverified; null for anything else. */
export const readClaims = (token) => {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1], 'base64url'))
  } catch {
    return null
  }
}
