import { readFile } from 'node:fs/promises'
import { Hono } from 'hono'
import { secureHeaders } from 'hono/secure-headers'

/** Where the files of the page are, here and in dist/docs. */
export const files: Record<string, URL> = {
  'index.html': new URL('../../docs/reference/page/index.html', import.meta.url),
  'main.js': new URL('../../docs/reference/page/main.js', import.meta.url),
  'style.css': new URL('../../docs/reference/page/style.css', import.meta.url),
  'swagger-ui-bundle.js': new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  'swagger-ui.css': new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css')),
  'openapi.json': new URL('../../docs/openapi.json', import.meta.url),
}

const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** Swagger UI has its icons in its style sheet, as data. "Try it out" sends requests to this server alone. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The API reference: docs/openapi.json in Swagger UI, with this server as the one to try it on. */
export const reference = () => {
  const page = new Hono()
  page.use(secureHeaders({ strictTransportSecurity: false }))
  page.use(async (c, next) => {
    await next()
    c.header('Content-Security-Policy', policy)
    c.header('Cache-Control', 'no-store')
  })
  page.get('/openapi.json', async (c) => {
    const document = JSON.parse(await readFile(files['openapi.json']!, 'utf8'))
    return c.json({ ...document, servers: [{ url: new URL('/functions/v1', c.req.url).href }] })
  })
  page.get('/:name{.*}', async (c) => {
    const name = c.req.param('name') || 'index.html'
    if (!Object.hasOwn(files, name)) return c.text('There is no such page\n', 404)
    const content = await readFile(files[name]!)
    return c.body(content, 200, { 'Content-Type': types[name.split('.').at(-1)!]! })
  })
  page.all('*', (c) => c.text('There is no such page\n', 404))
  return page
}
