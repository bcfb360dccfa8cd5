import { demoAccounts, password } from './demo_accounts.ts'
import { type Keys, networkOrigins, originOf, type Settings } from './settings.ts'

/** Prints how to use the stack. The last line, `ready URL`, means that it accepts requests. */
export const printBanner = (settings: Settings, keys: Keys, dashboard: string | null): void => {
  const origin = originOf(settings)
  const base = `${origin}/functions/v1`
  const accounts = demoAccounts(settings)
  const json = `-H 'Content-Type: application/json'`
  const lines = [
    '',
    `  Dashboard        ${dashboard ?? 'not on this HOST: it needs 127.0.0.1, or 0.0.0.0'}`,
    ...(dashboard ? [`  Admin            ${origin}/admin   (after the dashboard's link, or with the secret key)`] : []),
    `  Demo             ${origin}/demo   (two people: ${origin}/demo/side-by-side)`,
    `  API reference    ${origin}/docs/`,
    ...(dashboard ? [`  Mails            ${origin}/mail   (as the page for admins)`] : []),
    `  Project URL      ${origin}`,
    ...networkOrigins(settings).map((origin) =>
      `  On the network   ${origin}   (API and demo; the dashboard opens on this machine only)`
    ),
    `  Publishable key  ${keys.publishableKey}`,
    `  Secret key       ${keys.secretKey}`,
    ...(accounts.length ? [''] : []),
    ...accounts.map(({ email, password, who }) => `  Demo log-in      ${email}  ${password}   (${who})`),
    '',
    '  Try:',
    `    curl ${base}/health`,
    `    curl ${base}/users/interests`,
    accounts.length
      ? `    curl ${base}/auth/login ${json} -d '{"email": "${accounts[0]!.email}", "password": "${password}"}'`
      : `    curl ${base}/auth/signup ${json} ` +
        `-d '{"email": "you@example.com", "password": "${password}", "name": "You"}'`,
    '',
    `ready ${base}`,
  ]
  console.log(lines.join('\n'))
}
