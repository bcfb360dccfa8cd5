import { renderUnicodeCompact } from 'uqr'
import { demoAccounts, password } from './demo_accounts.ts'
import { type Keys, networkOrigins, originOf, type Settings } from './settings.ts'

/** The demo's address on the network as a QR code for a phone, in colours that no terminal's theme inverts. */
export const phoneCode = (origin: string): string[] => [
  '',
  `  For a phone on this network, ${origin}/demo:`,
  ...renderUnicodeCompact(`${origin}/demo`, { border: 2 }).split('\n').map((line) => `  \x1b[97;40m${line}\x1b[0m`),
]

/**
 * Prints how to use the stack. The last line, `ready URL`, means that it accepts requests. The QR code is for terminals
 * alone: in a file it would be noise.
 */
export const printBanner = (settings: Settings, keys: Keys, dashboard: string | null, isTerminal: boolean): void => {
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
    ...(isTerminal ? networkOrigins(settings).slice(0, 1).flatMap(phoneCode) : []),
    '',
    `ready ${base}`,
  ]
  console.log(lines.join('\n'))
}
