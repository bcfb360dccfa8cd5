import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { createMiddleware } from 'hono/factory'
import { HTTPException } from 'hono/http-exception'
import { z } from 'zod'
import { httpError } from './errors.ts'
import { isOptional, type RouteDocs, withDocs } from './openapi.ts'
import { project } from './settings.ts'

export const canBeStored = (value: string): boolean => value.isWellFormed() && !value.includes('\0')

/** Text that Postgres can store: no NUL, no lone surrogates. Lengths count Unicode code points. */
export const text = (min: number, max: number) =>
  z.string()
    .refine(canBeStored, 'must not hold NUL or lone surrogates')
    .refine((value) => {
      const { length } = [...value]
      return length >= min && length <= max
    }, min > 0 ? `must have ${min} to ${max} characters` : `must have at most ${max} characters`)
    .meta({ jsonSchema: { type: 'string', ...(min > 0 && { minLength: min }), maxLength: max } })

const breaking = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u
const showing = /[^\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/u

/** A name or title, which can stand beside words of ours. The database allows the same (private.is_line). */
export const line = (min: number, max: number) =>
  text(min, max)
    .refine((value) => !breaking.test(value), 'must be one line without control or direction characters')
    .refine((value) => value === '' || showing.test(value), 'must not be blank')

/** Whether no visible character is left. White space by JavaScript's or by Postgres's definition does not count. */
export const isBlank = (value: string): boolean => !/[^\s\p{Cc}]/u.test(value)

const blank = String.raw`\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f` +
  String.raw`\u205f-\u206f\u3000\ufeff\ufff9-\uffff`
const host = String.raw`\[[0-9A-Fa-f:.]+\]|[^\[\]\u0022\u0027\u0060<>{}|\\\^%/?#@:,;!$&()*+=${blank}]+`
const path = String.raw`[/?#][^\u0022\u0027\u0060<>\\${blank}]*`

/**
 * An https URL that is safe in HTML without escaping: no user name, quotes, angle brackets, backslashes, white space,
 * control characters or invisible characters. The database checks the same (private.is_web_address).
 */
export const webAddress = new RegExp(`^https://(${host})(:[0-9]{1,5})?(${path})?$`, 'u')

const avatarPath = /^\/storage\/v1\/object\/public\/avatars\/[0-9a-f-]{36}\/[A-Za-z0-9._-]+$/

/** Or an avatar in the Storage of one machine, which has no https. The database checks the same (is_own_photo). */
export const isPhoto = (url: string): boolean =>
  webAddress.test(url) ||
  /^http:\/\/127\.0\.0\.1:\d+$/.test(project.platformUrl) && url.startsWith(`${project.platformUrl}/`) &&
    avatarPath.test(url.slice(project.platformUrl.length))

/** A number in a URL: plain decimal digits. */
const integer = (pattern: RegExp, message: string, minimum: number) =>
  z.string().regex(pattern, message).transform(Number).refine(Number.isSafeInteger, 'is out of range')
    .meta({ jsonSchema: { type: 'integer', minimum, maximum: Number.MAX_SAFE_INTEGER } })

export const id = integer(/^[1-9]\d*$/, 'must be a positive integer', 1)
/** The id of whatever a page begins after; 0 is before the first. */
export const idOrZero = integer(/^(0|[1-9]\d*)$/, 'must be 0 or a positive integer', 0)
export const offset = integer(/^\d+$/, 'must be a non-negative integer', 0)

export const jsonId = z.int('must be an integer').positive('must be a positive integer')

export const limit = (max: number) =>
  z.string().regex(/^\d+$/, 'must be a non-negative integer').transform(Number)
    .refine((value) => value >= 1, 'must be at least 1').transform((value) => Math.min(value, max))
    .meta({ jsonSchema: { type: 'integer', minimum: 1, maximum: max } })
    .describe(`How many; more than ${max} are taken as ${max}`)

/** A part of the answer that must be asked for. */
export const flag = (description: string) =>
  z.enum(['true', 'false']).transform((value) => value === 'true')
    .meta({ jsonSchema: { type: 'boolean', description } }).optional()

/** ISO 8601 in UTC with milliseconds. */
export const timestamp = z.iso.datetime({ precision: 3 })

/** The full set of interest ids; duplicates are dropped. */
export const interestIds = z.array(jsonId)
  .transform((ids) => [...new Set(ids)])
  .refine((ids) => ids.length <= 50, 'must name at most 50 interests')
  .meta({
    jsonSchema: {
      type: 'array',
      items: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    },
  })

const scalars = { string: 'text', number: 'a number', int: 'an integer', boolean: 'true or false' }
const typeNames: Record<string, string> = { ...scalars, array: 'a list', object: 'an object' }

/** What zod itself says of a type or a choice, for people. Schemas say the rest. */
export const errorMap: z.core.$ZodErrorMap = ({ code, expected, values, path }) => {
  if (code === 'invalid_value') return `must be ${(values as unknown[]).join(' or ')}`
  const name = code === 'invalid_type' && typeNames[String(expected)]
  return name ? `${path?.length ? '' : 'The body '}must be ${name}` : undefined
}

/** Every field that is wrong, each with what was found first, and the names that a strict schema does not know. */
export const explainErrors = (error: z.ZodError, value: unknown): string => {
  const found = new Map<string, string>()
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys') {
      // A name of another kind is not repeated.
      for (const key of issue.keys) if (/^\w{1,40}$/.test(key)) found.set(key, `${key}: is not known`)
      continue
    }
    const field = issue.path.join('.')
    if (found.has(field)) continue
    const isMissing = issue.code !== 'custom' &&
      issue.path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown> | null)?.[key], value) === undefined
    const message = field && isMissing ? 'is missing' : issue.message
    found.set(field, field ? `${field}: ${message}` : message)
  }
  return found.size > 0 ? [...found.values()].slice(0, 10).join('; ') : 'A key of the body is not known'
}

const check = <Schema extends z.ZodType>(schema: Schema, value: unknown, isQuery = false): z.output<Schema> => {
  const result = schema.safeParse(value, { error: errorMap })
  if (result.success) return result.data
  const [issue] = result.error.issues
  const name = String(issue?.path[0])
  const isRepeated = isQuery && Array.isArray((value as Record<string, unknown>)[name]) && issue?.code !== 'custom'
  return httpError('invalid', isRepeated ? `${name}: is given more than once` : explainErrors(result.error, value))
}

/** Hono takes malformed parts literally: `%ff` for those three characters. */
const isWellEncoded = (url: string): boolean => {
  try {
    // The bundler drops a call of decodeURIComponent whose result is not used.
    return !url.includes('%') || decodeURIComponent(url) !== ''
  } catch {
    return false
  }
}

// An empty parameter counts as absent. A repeated one is an array, which schemas of single values reject.
const queryOf = (c: Context) => {
  const given = Object.entries(c.req.queries()).map(([name, all]) => [name, all.filter((one) => one !== '')] as const)
  return Object.fromEntries(given.map(([name, values]) => [name, values.length > 1 ? values : values[0]]))
}

const kilobytes100 = 102_400
const limitBody = bodyLimit({ maxSize: kilobytes100, onError: () => httpError('too_large', 'The body is over 100 KB') })
const notJson = () => httpError('unsupported_media_type', 'The body must be application/json')
const noBody = bodyLimit({ maxSize: 0, onError: notJson })

const readBody = async (c: Context, limit: MiddlewareHandler): Promise<ArrayBuffer> => {
  let bytes = new ArrayBuffer(0)
  await limit(c, async () => void (bytes = await c.req.arrayBuffer())).catch((error) => {
    throw error instanceof HTTPException ? error : httpError('invalid', 'The body ended too soon')
  })
  return bytes
}

const parseBody = (bytes: ArrayBuffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return httpError('invalid', 'The body is not valid JSON in UTF-8')
  }
}

export type Schemas = Pick<RouteDocs, 'params' | 'query' | 'headers' | 'json'>
type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined
export type Validated<Given extends Schemas> = { Variables: { [Part in keyof Schemas]-?: Output<Given[Part]> } }

/**
 * Validates in the order 415, 413, 400 and sets the parsed values in c.var. Unknown keys are dropped, unless the schema
 * is a strict one. Where the schema of the body is optional, a request may have none, and then needs no content type.
 */
export const readRequest = async (c: Context, { params, query, headers, json }: Schemas): Promise<void> => {
  const type = c.req.header('Content-Type')
  if (json && !/^application\/(.+\+)?json *(;|$)/i.test(type ?? '') && (type || !isOptional(json))) notJson()
  const body = json && await readBody(c, type ? limitBody : noBody)
  if ((params || query) && !isWellEncoded(c.req.url)) {
    httpError('invalid', 'The URL holds a % that does not begin an encoded UTF-8 character')
  }
  if (params) c.set('params', check(params, c.req.param()))
  if (query) c.set('query', check(query, queryOf(c), true))
  if (headers) c.set('headers', check(headers, c.req.header()))
  if (body) c.set('json', type ? check(json, parseBody(body)) : undefined)
}

/** For whom no token is needed. */
export const validate = <Given extends Schemas>(schemas: Given) =>
  withDocs(
    schemas,
    createMiddleware<Validated<Given>>(async (c, next) => {
      await readRequest(c, schemas)
      await next()
    }),
  )
