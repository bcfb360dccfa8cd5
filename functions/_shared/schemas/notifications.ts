import { z } from 'zod'
import { namesPrivateHost } from '../addresses.ts'
import { settings } from '../settings.ts'
import { timestamp, webAddress } from '../validate.ts'

const base64Url = (bytes: number, what: string) => {
  const length = Math.ceil(bytes * 4 / 3)
  return z.string().transform((value) => value.replace(/=+$/, ''))
    .refine((value) => value.length === length && /^[\w-]+$/.test(value), `must be ${what} in base64url`)
    .meta({ jsonSchema: { type: 'string', pattern: `^[A-Za-z0-9_-]{${length}}=*$` } })
}

/** On one machine, tests have push services without TLS. */
const isAllowed = (endpoint: string): boolean => {
  const url = URL.parse(endpoint)
  if (url && settings.LOOPBACK_TARGETS === 'all') return true
  return url !== null && webAddress.test(endpoint) && !namesPrivateHost(url)
}

export const newDevice = z.strictObject({
  endpoint: z.string()
    .regex(/^[!-~]{1,2048}$/, 'must have 1 to 2048 visible ASCII characters')
    .refine(isAllowed, 'must be an https URL with a public address')
    .meta({ jsonSchema: { type: 'string', format: 'uri', pattern: '^https://[!-~]+$', maxLength: 2048 } })
    .describe('The address of the push service'),
  keys: z.strictObject({
    p256dh: base64Url(65, 'a P-256 public key').refine((key) => key.startsWith('B'), 'must be an uncompressed point')
      .meta({ jsonSchema: { type: 'string', pattern: '^B[A-Za-z0-9_-]{86}=*$' } }),
    auth: base64Url(16, '16 bytes'),
  }).describe('The keys of the subscription, in base64url'),
  expirationTime: z.number().nullish().describe('As browsers give it; not used'),
})
export const deviceParam = z.object({
  device: z.uuid('must be a UUID').describe('A UUID that the app makes once for each installation'),
})

export const device = z.strictObject({
  id: z.uuid(),
  endpoint: z.string(),
  keys: z.strictObject({ p256dh: z.string(), auth: z.string() }),
  createdAt: timestamp,
}).meta({ id: 'Device' })

export const pushKey = z.strictObject({ public_key: z.string().describe('The VAPID key, as applicationServerKey') })

const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time like 22:00')

const isTimeZone = (name: string): boolean => {
  try {
    // Offsets are not time zones: they have no daylight saving time.
    return /^[A-Za-z]/.test(name) && Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}

const timeZone = z.string().refine(isTimeZone, 'must be the name of a time zone, as Europe/Lisbon')
  .meta({ jsonSchema: { type: 'string', maxLength: 64 } })

const quietHours = z.strictObject({ from: time, to: time, time_zone: timeZone })
  .refine(({ from, to }) => from !== to, 'must begin and end at different times')

export const notificationSettings = z.strictObject({
  push: z.boolean().describe('Whether to send pushes'),
  email: z.boolean().describe('Whether to send mails'),
  delay_minutes: z.int('must be an integer').min(0, 'must be 0 to 1440').max(1440, 'must be 0 to 1440')
    .describe('For how long a message must be unread before a mail tells of it'),
  quiet_hours: quietHours.nullable().describe('Nothing is sent in these hours; null: none'),
  previews: z.boolean().describe('Whether pushes and mails quote the latest message'),
}).meta({ id: 'NotificationSettings' })
export const notificationChanges = notificationSettings.partial()

export const unsubscribeQuery = z.object({
  token: z.string('must be the token of a mail').describe('The token of the link in a mail'),
})
export const mailSetting = z.strictObject({ email: z.boolean() })
