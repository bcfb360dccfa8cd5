import { type Keys, originOf, type Settings } from './settings.ts'

/** People of the demo world who can log in (sql/seed/demo_conversations.sql gives them the password). */
const demo = [
  { email: 'ines.carvalho@example.com', who: 'Inês, a local in Lisbon' },
  { email: 'tomas.novak@example.com', who: 'Tomáš, a voyager from Leipzig' },
]
const password = 'voyage-2026'

/** Says how to use the stack; the last line tells that it is ready. */
export const announce = (settings: Settings, keys: Keys): void => {
  const origin = originOf(settings)
  const base = `${origin}/functions/v1`
  const lines = [
    '',
    `  Dashboard        ${origin}/`,
    `  Project URL      ${origin}`,
    `  Publishable key  ${keys.publishableKey}`,
    `  Secret key       ${keys.secretKey}`,
    ...(settings.seed === 'demo'
      ? ['', ...demo.map(({ email, who }) => `  Demo log-in      ${email}  ${password}   (${who})`)]
      : []),
    '',
    '  Try:',
    `    curl ${base}/health`,
    `    curl ${base}/users/interests`,
    settings.seed === 'demo'
      ? `    curl ${base}/auth/login -H 'Content-Type: application/json' -d '{"email": "${
        demo[0]!.email
      }", "password": "${password}"}'`
      : `    curl ${base}/auth/signup -H 'Content-Type: application/json' -d '{"email": "you@example.com", "password": "${password}", "name": "You"}'`,
    '',
    `ready ${base}`,
  ]
  console.log(lines.join('\n'))
}
