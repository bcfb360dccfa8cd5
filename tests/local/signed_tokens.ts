// Run by signed_tokens.test.ts: publishes an ES256 and an RS256 key as Auth does. Prints which tokens are accepted.
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'

const es = await generateKeyPair('ES256', { extractable: true })
const rs = await generateKeyPair('RS256', { extractable: true })
const otherKey = await generateKeyPair('ES256')
const keys = [
  { ...await exportJWK(es.publicKey), kid: 'es', alg: 'ES256', use: 'sig' },
  { ...await exportJWK(rs.publicKey), kid: 'rs', alg: 'RS256', use: 'sig' },
]
const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, () => Response.json({ keys }))
Deno.env.set('SUPABASE_URL', `http://127.0.0.1:${server.addr.port}`)
Deno.env.set('JWT_SECRET', 'a shared secret of more than 32 characters')
const { verifyToken } = await import('../../functions/_shared/token.ts')

const token = (alg: string, kid: string) =>
  new SignJWT({ role: 'authenticated' }).setProtectedHeader({ alg, kid }).setSubject(crypto.randomUUID())
    .setAudience('authenticated').setIssuer(`http://127.0.0.1:${server.addr.port}/auth/v1`).setExpirationTime('1h')
const publicKeyAsSecret = new TextEncoder().encode(await exportSPKI(es.publicKey))
const tokens = {
  'ES256': await token('ES256', 'es').sign(es.privateKey),
  'RS256': await token('RS256', 'rs').sign(rs.privateKey),
  'ES256 of another key': await token('ES256', 'es').sign(otherKey.privateKey),
  'ES256 of an unknown key id': await token('ES256', 'other').sign(otherKey.privateKey),
  'HS256 with the public key for a secret': await token('HS256', 'es').sign(publicKeyAsSecret),
}
const accepted: Record<string, boolean> = {}
for (const [name, text] of Object.entries(tokens)) accepted[name] = await verifyToken(text) !== null
console.log(JSON.stringify(accepted))
Deno.exit(0)
