import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listen } from '../tools/ports.ts'

/**
 * A stand-in for hCaptcha. Auth has its address built in, so it reaches this one through a proxy, and is told to trust
 * the certificate by SSL_CERT_FILE. As hCaptcha it takes each solved token once.
 */
export const openCaptchaProvider = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'captcha-'))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=hcaptcha.com', '-addext', 'subjectAltName=DNS:hcaptcha.com', '-keyout', key, '-out', certificate],
  ], { stdio: 'ignore' })
  const used = new Set<string>()
  const provider = {
    isDown: false,
    env: {} as Record<string, string>,
    solve: () => `solved-${crypto.randomUUID()}`,
    goDown: () => {},
    close: () => {},
  }
  const hcaptcha = createTlsServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    async (request, response) => {
      const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString())
      const token = form.get('response') ?? ''
      const success = form.get('secret') === 'captcha-secret' && token.startsWith('solved-') && !used.has(token)
      used.add(token)
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify({ success, 'error-codes': success ? [] : ['invalid-or-already-seen-response'] }))
    },
  )
  const port = await listen(hcaptcha)
  const proxy = createServer((_, response) => response.writeHead(502).end())
  // Auth keeps connections open.
  const open = new Set<Duplex>()
  proxy.on('connect', (request, socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    if (provider.isDown || request.url !== 'hcaptcha.com:443') return socket.destroy()
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(upstream).pipe(socket)
    })
    upstream.on('error', () => socket.destroy())
  })
  provider.env = {
    GOTRUE_SECURITY_CAPTCHA_ENABLED: 'true',
    GOTRUE_SECURITY_CAPTCHA_PROVIDER: 'hcaptcha',
    GOTRUE_SECURITY_CAPTCHA_SECRET: 'captcha-secret',
    HTTPS_PROXY: `http://127.0.0.1:${await listen(proxy)}`,
    SSL_CERT_FILE: certificate,
  }
  provider.goDown = () => {
    provider.isDown = true
    for (const socket of open) socket.destroy()
  }
  provider.close = () => {
    for (const server of [proxy, hcaptcha]) {
      server.closeAllConnections()
      server.close()
    }
    rmSync(folder, { recursive: true })
  }
  return provider
}
