import type { Reference } from './types.ts'

const device = '3f0c8a52-7f0e-4a3e-9a52-6b1f0d3c2e10'
const token = `63.${'0f'.repeat(32)}`

export const notifications = {
  getPushKey: {
    tag: 'Notifications',
    description: 'Give it to `pushManager.subscribe` as `applicationServerKey`. The answer can be cached for an hour.',
    example: {},
  },
  registerDevice: {
    tag: 'Notifications',
    description: 'Send it again whenever the browser has a new subscription: it replaces that of the same device.',
    example: {
      as: 'tomas',
      path: { device },
      json: {
        endpoint: 'https://push.example.com/send/cK4f2mT9',
        keys: {
          p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
          auth: 'BTBZMqHH6r4Tts7J_aSIgg',
        },
      },
    },
  },
  listDevices: {
    tag: 'Notifications',
    description: 'The devices that get pushes. One whose push service says that it is gone is removed by itself.',
    example: { as: 'tomas' },
  },
  removeDevice: {
    tag: 'Notifications',
    description: 'Do so when somebody logs out. Removing it again changes nothing.',
    example: { as: 'tomas', path: { device } },
  },
  getNotificationSettings: {
    tag: 'Notifications',
    description: 'The defaults, until the caller has changed them.',
    example: { as: 'tomas' },
  },
  updateNotificationSettings: {
    tag: 'Notifications',
    description: 'Absent settings stay unchanged.',
    example: {
      as: 'tomas',
      json: { quiet_hours: { from: '22:00', to: '07:30', time_zone: 'Europe/Berlin' }, previews: true },
    },
  },
  checkUnsubscribe: {
    tag: 'Notifications',
    description: 'Changes nothing, because mail programs follow links by themselves.',
    example: { query: { token }, answer: { status: 200, body: { email: true } } },
  },
  unsubscribe: {
    tag: 'Notifications',
    description: 'What the button of a mail program sends. A repeat changes nothing.',
    example: { query: { token }, answer: { status: 200, body: { email: false } } },
  },
} as const satisfies Record<string, Reference>
