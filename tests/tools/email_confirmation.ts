import { expect } from 'vitest'
import { databaseUrl, mailedLinks, useStack } from './own_stack.ts'
import { call, uniqueEmail } from './people.ts'
import { testKeys } from './stack.ts'

export const password = 'correct horse'

type Options = Parameters<typeof call>[3]

/** Starts a stack where e-mail must be confirmed, for the tests of this file, and returns what they do with it. */
export const useEmailConfirmation = () => {
  const stack = useStack({
    EMAIL_CONFIRMATION: 'on',
    // Hashing takes as long as by default, because these tests compare times and race sign-ups.
    LITE_AUTH_BCRYPT_COST: '10',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  })

  const request = (method: string, path: string, body?: unknown, options?: Options) =>
    call(method, stack.base + path, body, options)
  const signUp = (email: string, secret = password, fields: object = {}) =>
    request('POST', '/auth/signup', { email, password: secret, name: 'Somebody', ...fields })
  const logIn = (email: string, secret = password) => request('POST', '/auth/login', { email, password: secret })
  const dataApi = async (path: string, apikey: string, token?: string) =>
    (await call('GET', `${new URL(stack.base).origin}/rest/v1/${path}`, undefined, { token, headers: { apikey } })).body
  const callAuth = (path: string, body: unknown) =>
    call('POST', `${new URL(stack.base).origin}/auth/v1/${path}`, body, {
      headers: { apikey: testKeys.publishableKey },
    })
  const usersWith = (email: string) => dataApi(`users?email=ilike.${email}`, testKeys.secretKey)
  /** Whether a link still works. */
  const follow = async (link: string): Promise<'confirmed' | 'dead'> => {
    const response = await fetch(link, { redirect: 'manual' })
    await response.body?.cancel()
    return response.status < 400 && !/error/.test(response.headers.get('Location') ?? '') ? 'confirmed' : 'dead'
  }
  const confirm = async (email: string): Promise<void> =>
    expect(await follow((await mailedLinks(stack, email)).at(-1)!)).toBe('confirmed')

  const person = async (fields: object = {}) => {
    const email = uniqueEmail()
    await signUp(email, password, fields)
    await confirm(email)
    const { body } = await logIn(email)
    return { email, id: body.user.id as number, token: body.access_token as string }
  }

  return { stack, request, signUp, logIn, dataApi, callAuth, usersWith, follow, confirm, person }
}
