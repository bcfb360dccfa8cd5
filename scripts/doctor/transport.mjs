import { connect } from 'node:tls'
import { describeAnswer } from './project.mjs'
import { fail, skip } from './outcome.mjs'

const day = 86_400_000

/** Opens a TLS connection and returns its version and the last day of the certificate. */
const openTls = ({ hostname, port }, timeout) =>
  new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port || 443), servername: host, timeout }, () => {
      resolve({ protocol: socket.getProtocol(), expiresAt: new Date(socket.getPeerCertificate().valid_to) })
      socket.destroy()
    })
    socket.on('timeout', () => socket.destroy(new Error('no answer in time')))
    socket.on('error', reject)
  })

const tls = async ({ url, timeout }) => {
  if (url.protocol === 'http:') skip('http, on this machine')
  const { protocol, expiresAt } = await openTls(url, timeout)
  const days = Math.floor((expiresAt - Date.now()) / day)
  if (days < 7) fail(`the certificate expires on ${expiresAt.toISOString().slice(0, 10)}`)
  return `${protocol}, the certificate is valid for ${days} days`
}

const hsts = async ({ url, call }) => {
  if (url.protocol === 'http:') skip('http, on this machine')
  const header = (await call('/health')).headers.get('Strict-Transport-Security') ?? ''
  const seconds = Number(/max-age="?(\d+)/i.exec(header)?.[1] ?? 0)
  if (seconds < 180 * 86_400) fail(`Strict-Transport-Security is "${header}", and should last 180 days or more`)
  return header
}

const plainHttp = async ({ url, timeout }) => {
  if (url.protocol === 'http:') skip('http, on this machine')
  const plain = new URL('/functions/v1/health', url)
  plain.protocol = 'http:'
  let answer
  try {
    answer = await fetch(plain, { redirect: 'manual', signal: AbortSignal.timeout(timeout) })
  } catch {
    return 'no answer'
  }
  const location = answer.headers.get('Location') ?? ''
  if (answer.status >= 400) return `refused with ${answer.status}`
  if (!location.startsWith('https:')) fail(`answers ${answer.status} without TLS`)
  return 'redirects to https'
}

// The Date header has whole seconds.
const maxSkew = 5

const clock = async ({ call }) => {
  const sent = Date.now()
  const { headers } = await call('/health')
  const date = Date.parse(headers.get('Date') ?? '')
  if (Number.isNaN(date)) fail('the answer has no Date header')
  const travel = (Date.now() - sent) / 2
  // On average the header is half a second old.
  const skew = (date + 500 - sent - travel) / 1000
  const words = `${Math.abs(skew).toFixed(1)} s ${skew < 0 ? 'behind' : 'ahead of'} this machine's`
  if (Math.abs(skew) > maxSkew + travel / 1000) fail(`the server's clock is ${words}: tokens expire early or late`)
  return words
}

const reachable = async (project) => `${project.url.origin} answers ${(await project.call('/health')).status}`

const cors = async ({ call, query }) => {
  const origin = 'https://app.example.com'
  const wanted = 'apikey, authorization, content-type, idempotency-key, x-client-info'
  const preflight = {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'PATCH',
      'Access-Control-Request-Headers': wanted,
    },
  }
  const list = (headers, name) => (headers.get(name) ?? '').toLowerCase().split(/\s*,\s*/)
  const answer = await call('/users/profile', preflight)
  const { status, headers } = answer
  if (status >= 300) fail(`a preflight answers ${describeAnswer(answer)}`)
  const allows = (name, value) => list(headers, name).some((one) => one === '*' || one === value)
  if (!allows('Access-Control-Allow-Origin', origin)) fail('a preflight does not allow another origin')
  if (!allows('Access-Control-Allow-Methods', 'patch')) fail('a preflight does not allow PATCH')
  const missing = wanted.split(', ').filter((name) => !list(headers, 'Access-Control-Allow-Headers').includes(name))
  if (missing.length > 0) fail(`a preflight does not allow the header ${missing.join(', ')}`)
  const fromPage = { headers: { Origin: origin } }
  for (
    const [name, answer] of [
      ['a function', await call('/health', fromPage)],
      ['the Data API', await query('interests?select=id&limit=1', fromPage)],
    ]
  ) {
    const allowed = answer.headers.get('Access-Control-Allow-Origin')
    if (allowed !== '*' && allowed !== origin) fail(`pages on another origin cannot read answers of ${name}`)
  }
  return 'pages on other origins can call it'
}

export const reachability = ['reachable', reachable]
export const transportChecks = [['tls', tls], ['hsts', hsts], ['plain http', plainHttp], ['clock', clock], [
  'cors',
  cors,
]]
