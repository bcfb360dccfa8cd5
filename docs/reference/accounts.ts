import type { Reference } from './types.ts'

export const accounts = {
  signUp: {
    tag: 'Accounts',
    description: 'Creates an account with its profile, and logs in. Where the project confirms e-mail addresses, the ' +
      'tokens are null, and a taken address is answered like a free one.',
    example: {
      json: {
        email: 'lena.brandt@example.com',
        password: 'two-rivers-2026',
        name: 'Lena Brandt',
        location: 'Bremen',
        interest_ids: [29, 56],
      },
    },
  },
  logIn: {
    tag: 'Accounts',
    description: 'Send `access_token` as a bearer token from then on; it works for `expires_in` seconds.',
    example: { json: { email: 'tomas.novak@example.com', password: 'voyage-2026' } },
  },
  refreshSession: {
    tag: 'Accounts',
    description: 'Exchanges a refresh token, which works once, for a new session.',
    example: { json: { refresh_token: '01a20548-64b5-7537-b660-1f265e3e25fc' } },
  },
  recoverPassword: {
    tag: 'Accounts',
    description: 'Whether there is such an account shows neither in the answer nor in its time.',
    example: { json: { email: 'tomas.novak@example.com' } },
  },
  exportMe: {
    tag: 'Accounts',
    description: 'One JSON file, streamed, with everything that the service knows about the caller.',
    example: { as: 'leaving' },
  },
  logOut: {
    tag: 'Accounts',
    description: 'Its refresh token stops working at once, the access token when it expires.',
    example: { as: 'leaving' },
  },
  eraseMe: {
    tag: 'Accounts',
    description: 'Cannot be undone. The partners keep their conversations, with an erased account in them.',
    example: { as: 'leaving' },
  },
} as const satisfies Record<string, Reference>
