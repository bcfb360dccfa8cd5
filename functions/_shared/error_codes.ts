import { z } from 'zod'

/** Every X-Error-Code with its status. The first code of a status is that of an error that names none. */
export const statuses = {
  invalid: 400,
  // A maximum of the caller's own is reached: devices, blocks, pinned conversations.
  too_many: 400,
  unauthorized: 401,
  invalid_credentials: 401,
  forbidden: 403,
  deactivated: 403,
  // The caller has blocked the other. Whoever was blocked gets forbidden.
  blocked: 403,
  first_contact_limit: 403,
  not_public: 403,
  // An admin has hidden the caller's profile.
  hidden: 403,
  // The settings of the service do not allow it to anybody.
  switched_off: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  already_open: 409,
  email_taken: 409,
  stale_revision: 409,
  overlap: 409,
  cursor_expired: 410,
  too_large: 413,
  unsupported_media_type: 415,
  key_reused: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const

export type ErrorCode = keyof typeof statuses

export const errorCodes = Object.keys(statuses) as ErrorCode[]

export const errorCodeSchema = z.enum(errorCodes).meta({ id: 'ErrorCode' })

/** The code of an error with this status that names none. */
export const codeOf = (status: number): ErrorCode =>
  errorCodes.find((code) => statuses[code] === status) ?? (status < 500 ? 'invalid' : 'internal')
