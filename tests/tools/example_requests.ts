import type { Operation } from './openapi.ts'
import { uniqueEmail } from './people.ts'

export type Subject = { user: number; profile: number; conversation: number; message: number; reservation: number }

const nowhere: Subject = { user: 1, profile: 1, conversation: 1, message: 1, reservation: 1 }

/** A request as the document's example has it, about this subject. All bodies but those of a log-in are valid. */
export const exampleRequest = (
  { path, body, example, parameters = [] }: Pick<Operation, 'path' | 'body' | 'example'> & Partial<Operation>,
  { user, profile, conversation, message, reservation }: Subject = nowhere,
): { path: string; body?: Record<string, unknown> } => {
  const values: Record<string, unknown> = {
    id: path.startsWith('/users/') ? profile : conversation,
    rid: reservation,
    messageId: message,
    message_id: message,
    up_to_message_id: message,
    user_id: user,
    other_user_id: user,
    device: '3f0c8a52-7f0e-4a3e-9a52-6b1f0d3c2e10',
    revision: 1,
    email: uniqueEmail(),
  }
  const needed = parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => `${name}=h`)
  return {
    path: path.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name])) + (needed.length ? `?${needed}` : ''),
    ...(body && {
      body: Object.fromEntries(
        Object.entries(example ?? {}).map(([name, value]) => [name, name in values ? values[name] : value]),
      ),
    }),
  }
}

/** Whether a request names something that may be another's, or nobody's. */
export const isAboutSomething = ({ path, example }: Operation): boolean =>
  /\{(?!device)/.test(path) || Object.keys(example ?? {}).some((name) => name.endsWith('_id'))
