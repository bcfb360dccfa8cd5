import { z } from 'zod'
import { text } from '../validate.ts'
import { profileChanges, role } from './users.ts'

export const accountShape = z.strictObject({ id: z.int(), name: z.string(), email: z.string(), role })
  .meta({ id: 'Account' })
export type Account = z.infer<typeof accountShape>

// The rule of <input type=email>.
export const email = text(3, 254).pipe(z.email({ pattern: z.regexes.html5Email, error: 'must be an e-mail address' }))
  .meta({ jsonSchema: { type: 'string', format: 'email', maxLength: 254 } })
  .describe('The address of the account')

// Auth hashes with bcrypt, which reads 72 bytes.
const password = text(8, 72)
  .refine((value) => new TextEncoder().encode(value).length <= 72, 'must have at most 72 bytes')
  .meta({ jsonSchema: { type: 'string', minLength: 8, maxLength: 72, format: 'password' } })
  .describe('At most 72 bytes in UTF-8')

/** A CAPTCHA that the client solved, for Auth; hCaptcha's have some thousand characters. */
export const captcha_token = text(1, 16_384).nullish()
  .describe('Of a CAPTCHA that was solved, where the project asks for one')

export const newUser = profileChanges.extend({
  email,
  name: profileChanges.shape.name.unwrap().describe('The displayed name'),
})
export const newSignUp = newUser.extend({ password, captcha_token })
export const newAccount = newUser.extend({
  password: password.optional(),
  // Without the secret key any value is ignored.
  role: z.unknown().optional().describe('Only the secret key grants admin')
    .meta({ jsonSchema: { $ref: '#/components/schemas/Role' } }),
  captcha_token,
})
export const secretKeyHeader = z.object({ apikey: z.string().optional().describe('The secret key of the project') })
