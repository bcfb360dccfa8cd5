import { createHmac } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { refusals } from './errors.ts'

/** Signs addresses of downloads. The key is not that of users' tokens, so that neither is ever taken for the other. */
export const openSignatures = (jwtSecret: string) => {
  const key = createHmac('sha256', jwtSecret).update('storage').digest()
  return {
    /** `url`: the bucket and the path. */
    sign: (url: string, seconds: number): Promise<string> => {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ url }).setProtectedHeader({ alg: 'HS256' }).setIssuedAt(now).setExpirationTime(now + seconds)
        .sign(key)
    },
    verify: async (token: string | undefined, url: string): Promise<{ exp: number }> => {
      if (!token) throw refusals.invalidRequest("querystring must have required property 'token'")
      const { payload } = await jwtVerify<{ url: string }>(token, key, {
        algorithms: ['HS256'],
        requiredClaims: ['exp'],
      })
        .catch((error) => {
          throw refusals.invalidToken(
            error instanceof errors.JWTExpired ? '"exp" claim timestamp check failed' : 'signature verification failed',
          )
        })
      if (payload.url !== url) throw refusals.invalidSignature()
      return { exp: payload.exp! }
    },
  }
}
