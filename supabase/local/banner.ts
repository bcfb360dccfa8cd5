import { demoLogIns, password } from './demo_people.ts'
import { type Keys, originOf, type Settings } from './settings.ts'

/** Says how to use the stack; the last line tells that it is ready. */
export const announce = (settings: Settings, keys: Keys, dashboard: string | null): void => {
  const origin = originOf(settings)
  const base = `${origin}/functions/v1`
  const logIns = demoLogIns(settings)
  const lines = [
    '',
    `  Dashboard        ${dashboard ?? 'not on this HOST: it needs 127.0.0.1, or 0.0.0.0'}`,
    `  Demo             ${origin}/demo`,
    `  Project URL      ${origin}`,
    `  Publishable key  ${keys.publishableKey}`,
    `  Secret key       ${keys.secretKey}`,
    ...(logIns.length
      ? ['', ...logIns.map(({ email, password, who }) => `  Demo log-in      ${email}  ${password}   (${who})`)]
      : []),
    '',
    '  Try:',
    `    curl ${base}/health`,
    `    curl ${base}/users/interests`,
    logIns.length
      ? `    curl ${base}/auth/login -H 'Content-Type: application/json' -d '{"email": "${
        logIns[0]!.email
      }", "password": "${password}"}'`
      : `    curl ${base}/auth/signup -H 'Content-Type: application/json' -d '{"email": "you@example.com", "password": "${password}", "name": "You"}'`,
    '',
    `ready ${base}`,
  ]
  console.log(lines.join('\n'))
}
