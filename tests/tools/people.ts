import { inject } from 'vitest'

const stack = inject('stack')

export interface Answer {
  status: number
  headers: Headers
  // Tests assert the shape.
  // deno-lint-ignore no-explicit-any
  body: any
  text: string
}

type Options = { token?: string; headers?: Record<string, string>; raw?: string }

/** Sends a request to the service, with a JSON body or with `raw` text. */
export const call = async (method: string, path: string, body?: unknown, options: Options = {}): Promise<Answer> => {
  const content = options.raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(path.startsWith('http') ? path : `${stack.base}${path}`, {
    method,
    headers: {
      ...(content !== undefined && { 'Content-Type': 'application/json' }),
      ...(options.token && { Authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    body: content,
  })
  const text = await response.text()
  const isJson = response.headers.get('Content-Type')?.includes('json') && text !== ''
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : undefined, text }
}

/** A user and a function that calls the service with their token. */
export interface Person {
  id: number
  profileId: number
  name: string
  email: string
  password: string
  token: string
  call: (method: string, path: string, body?: unknown, options?: Options) => Promise<Answer>
}

/** The ETag without its mark of weakness, which compression adds, as in the platform's runtime. */
export const opaqueTag = ({ headers }: Answer): string | undefined =>
  /^(?:W\/)?"(.*)"$/.exec(headers.get('ETag') ?? '')?.[1]

let count = 0
export const uniqueEmail = (): string => `p${process.pid}.${Date.now()}.${count++}@example.com`

/** Signs up a user with these fields of PATCH /users/profile; `base` selects another stack. */
export const signUp = async (
  name: string,
  fields: Record<string, unknown> = {},
  base = stack.base,
): Promise<Person> => {
  const email = uniqueEmail()
  const password = 'correct horse'
  const { status, body, text } = await call('POST', `${base}/auth/signup`, { email, password, name, ...fields })
  if (status !== 201) throw new Error(`sign-up answered ${status} ${text}`)
  const token: string = body.access_token
  const me = await call('GET', `${base}/users/me`, undefined, { token })
  return {
    ...{ id: body.user.id, profileId: me.body.Profile.id, name, email, password, token },
    call: (method, path, content, options = {}) =>
      call(method, path.startsWith('/') ? base + path : path, content, { token, ...options }),
  }
}

/** The seeded interests. Other tests add more and remove them again. */
export const seededInterests = async (): Promise<{ id: number; name: string }[]> => {
  const interests: { id: number; name: string }[] = (await call('GET', '/users/interests')).body
  return interests.sort((one, other) => one.id - other.id).slice(0, 63)
}

/** The Data API with the secret key, as admins use it in the dashboard. */
export const asAdmin = async (method: string, path: string, body?: unknown): Promise<Answer> => {
  const answer = await call(method, `${stack.origin}/rest/v1/${path}`, body, {
    headers: { apikey: stack.secretKey, Prefer: 'return=representation' },
  })
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status} ${answer.text}`)
  return answer
}

/** The Data API with the publishable key, as a user or anonymous. */
export const dataApi = (token: string | undefined, method: string, path: string, body?: unknown): Promise<Answer> =>
  call(method, `${stack.origin}/rest/v1/${path}`, body, {
    ...(token && { token }),
    headers: { apikey: stack.publishableKey, Prefer: 'return=representation' },
  })

/** Opens a conversation; the first user is the voyager. Returns its id. */
export const openConversation = async (voyager: Person, local: Person): Promise<number> => {
  const { status, body, text } = await voyager.call('POST', '/conversations', { other_user_id: local.id })
  if (status !== 201) throw new Error(`opening a conversation answered ${status} ${text}`)
  return body.id
}

/** Ana, and Ben, with whom she has opened a conversation; `base` selects another stack. */
export const openPair = async (base?: string) => {
  const [ana, ben] = await Promise.all([signUp('Ana', {}, base), signUp('Ben', {}, base)])
  return { ana, ben, conversation: await openConversation(ana, ben) }
}

export const sendMessage = async (sender: Person, conversation: number, content: string): Promise<Answer['body']> => {
  const { status, body, text } = await sender.call('POST', `/conversations/${conversation}/messages`, { content })
  if (status !== 201) throw new Error(`sending answered ${status} ${text}`)
  return body
}
