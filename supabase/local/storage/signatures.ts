import { createHmac } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { refusals } from './errors.ts'

interface Signed {
  /** The bucket and the path. */
  url: string
  scope: 'download' | 'upload'
  owner?: string
  upsert?: boolean
}

/** Signs addresses. The key is not that of users' tokens, so that neither is ever taken for the other. */
export const openSignatures = (jwtSecret: string) => {
  const key = createHmac('sha256', jwtSecret).update('storage').digest()
  return {
    sign: (claims: Signed, seconds: number): Promise<string> => {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).setIssuedAt(now)
        .setExpirationTime(now + seconds).sign(key)
    },
    verify: async (token: string | undefined, url: string, scope: Signed['scope']) => {
      if (!token) throw refusals.invalidRequest("querystring must have required property 'token'")
      const { payload } = await jwtVerify<Signed>(token, key, { algorithms: ['HS256'], requiredClaims: ['exp'] })
        .catch((error) => {
          throw refusals.invalidToken(
            error instanceof errors.JWTExpired ? '"exp" claim timestamp check failed' : 'signature verification failed',
          )
        })
      if (payload.scope !== scope || payload.url !== url) throw refusals.invalidSignature()
      return payload as typeof payload & { exp: number }
    },
  }
}
