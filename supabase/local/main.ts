import { provideQuery } from '../../functions/_shared/rpc.ts'
import { provideFetch } from '../../functions/_shared/platform.ts'
import { surviveConnectionLoss } from './connection_loss.ts'
import { auth } from './auth.ts'
import { printBanner } from './banner.ts'
import { openDashboard } from './dashboard.ts'
import { openDataDir } from './data_dir.ts'
import { type Database, openPglite, openPostgres, retryOnConflict } from './database.ts'
import { type EdgeFunctions, openEdgeFunctions } from './edge_functions.ts'
import { openGateway, reject } from './gateway.ts'
import { type Inbox, openInbox } from './inbox.ts'
import { startJobs } from './jobs.ts'
import { printMail } from './lite_call.ts'
import { openApp, openPlatform, type SendMail } from './platform.ts'
import { storePortraits } from './portraits.ts'
import { openRealtime } from './realtime/server.ts'
import { allSettings } from '../../functions/_shared/setting_rules.ts'
import { CannotStart } from './cannot_start.ts'
import { hashInSecondThread } from './hashing.ts'
import { type Keys, originOf, readSettings, type Settings } from './settings.ts'
import { openStorage } from './storage/server.ts'
import { openVapidKeys } from './vapid.ts'

/** Sets the environment variables that the platform gives its Edge Functions, and their access to the database. */
const configureFunctions = async (settings: Settings, keys: Keys, database: Database, inbox: Inbox): Promise<void> => {
  const vapid = await openVapidKeys(settings.dataDir, settings.vapid)
  const defaults = {
    VAPID_PUBLIC_KEY: vapid.publicKey,
    VAPID_PRIVATE_KEY: vapid.privateKey,
    VAPID_SUBJECT: 'mailto:nobody@example.com',
    SMTP_URL: inbox.smtpUrl,
    APP_URL: `${originOf(settings)}/demo/c/{conversation}`,
    // The defaults of one machine.
    ...Object.fromEntries(
      Object.entries(allSettings).flatMap(([name, { local }]) => local === undefined ? [] : [[name, local]]),
    ),
  }
  for (const [name, value] of Object.entries(defaults)) Deno.env.set(name, Deno.env.get(name) || value)
  Deno.env.set('SUPABASE_URL', originOf(settings))
  Deno.env.set('SUPABASE_PUBLISHABLE_KEYS', JSON.stringify({ default: keys.publishableKey }))
  Deno.env.set('SUPABASE_SECRET_KEYS', JSON.stringify({ default: keys.secretKey }))
  Deno.env.set('JWT_SECRET', keys.jwtSecret)
  Deno.env.set('CLIENT_ADDRESS_HEADER', 'x-forwarded-for')
  if (database.functionsQuery) return provideQuery(database.functionsQuery)
  // Roles belong to the whole server, so the password is derived: another stack with the same login sets the same one.
  // If the login needs no password, the functions need none either.
  const server = new URL(settings.databaseUrl!)
  const secret = new TextEncoder().encode(`edge_functions ${server.username}:${server.password || crypto.randomUUID()}`)
  const password = new Uint8Array(await crypto.subtle.digest('SHA-256', secret)).toHex()
  await retryOnConflict(() => database.run(`alter role edge_functions password '${password}'`))
  Deno.env.set('EDGE_DATABASE_URL', database.edgeUrl(password)!)
}

const listen = (settings: Settings, handler: Deno.ServeHandler<Deno.NetAddr>): Deno.HttpServer<Deno.NetAddr> => {
  try {
    return Deno.serve({ hostname: settings.host, port: settings.port, onListen: () => {} }, handler)
  } catch (error) {
    throw new CannotStart(
      error instanceof Deno.errors.AddrInUse
        ? `Port ${settings.port} is in use; stop what listens there, or set PORT to another`
        : `Cannot listen on HOST ${settings.host}, PORT ${settings.port}: ${(error as Error).message}`,
    )
  }
}

const unavailable = (error: string, headers = {}): Response => reject(503, error, { 'Retry-After': '1', ...headers })

/** For people, who would reload it. */
const startingPage = (): Response =>
  new Response(
    `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="1">
    <title>Starting …</title><p>The service is starting; this page opens by itself.</p></html>`,
    { status: 503, headers: { 'Content-Type': 'text/html; charset=utf-8', 'Retry-After': '1' } },
  )

const start = async (openFunctions: OpenFunctions): Promise<void> => {
  const settings = readSettings(Deno.env.toObject())
  const keys = await openDataDir(settings.dataDir, settings.keys)

  // Listen first: a port in use is reported before the database is set up, and port 0 becomes a real one.
  let handler: Deno.ServeHandler<Deno.NetAddr> = ({ headers }) =>
    headers.get('Accept')?.includes('text/html') ? startingPage() : unavailable('The service is starting')
  const inFlight = new Set<Promise<Response>>()
  const server = listen(settings, (request, info) => {
    const response = Promise.resolve(handler(request, info))
    inFlight.add(response)
    return response.finally(() => inFlight.delete(response))
  })
  settings.port = server.addr.port

  const database = settings.databaseUrl ? await openPostgres(settings.databaseUrl) : await openPglite(settings.dataDir)
  const inbox = await openInbox()
  const sendMail: SendMail = (mail) => {
    inbox.add(mail)
    printMail(mail)
  }
  const platform = await openPlatform(database, keys, settings, sendMail).catch((error) => {
    if (error instanceof CannotStart) throw error
    throw new CannotStart(`The database could not be set up: ${error.message}`)
  })
  await configureFunctions(settings, keys, database, inbox)
  const realtime = await openRealtime(database, keys).catch((error) => {
    throw new CannotStart(`Realtime could not be set up in the database: ${error.message}`)
  })
  const storage = await openStorage(database, settings, keys).catch((error) => {
    throw new CannotStart(`Storage could not be set up: ${error.message}`)
  })
  const functions = await openFunctions(keys)
  const dashboard = openDashboard(settings)
  const gateway = openGateway({
    ...{ platform, database, settings, keys, realtime, storage, dashboard, inbox },
    functions: functions.byName,
    authRoutes: auth(database, settings, keys, openApp(database, keys, settings, false), sendMail),
  })
  provideFetch(async (input, init) => await gateway.fetch(new Request(input, init), '127.0.0.1', true))
  if (settings.seed === 'demo') await storePortraits(database, storage)
  // Not before this: until the listeners below are there, a signal ends the process by itself.
  hashInSecondThread()
  handler = (request, info) => gateway.fetch(request, info.remoteAddr.hostname)

  // On Supabase the schedule calls the functions embed and notify.
  const stopJobs = await startJobs(database, () => {
    functions.drain()
    functions.notify()
  })

  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    stopJobs()
    realtime.close()
    handler = () => unavailable('The service is stopping', { Connection: 'close' })
    const atMost = (milliseconds: number, work: Promise<void>) =>
      Promise.race([work, new Promise((resolve) => setTimeout(resolve, milliseconds))])
    // Requests in flight get four of the five seconds; shut down only after them. Deno's shutdown aborts request bodies
    // that are still arriving, and those requests would get the error that their body ended too soon.
    await atMost(4000, Promise.allSettled(inFlight).then(() => server.shutdown()))
    // A clean close is not needed: the next start replays the WAL.
    functions.close()
    await atMost(500, database.close())
    storage.close()
    Deno.exit(0)
  }
  Deno.addSignalListener('SIGINT', stop)
  Deno.addSignalListener('SIGTERM', stop)
  printBanner(settings, keys, dashboard.link)
}

/** How the functions are opened, once their environment is set. Tests open them as they are deployed. */
export type OpenFunctions = (keys: Keys) => Promise<EdgeFunctions>

/** Runs the stack until a signal ends it. */
export const run = async (openFunctions: OpenFunctions = openEdgeFunctions): Promise<void> => {
  surviveConnectionLoss()
  try {
    if (Deno.args.length) throw new CannotStart(`${Deno.args[0]} is unknown; docs/settings.md lists the settings`)
    await start(openFunctions)
  } catch (error) {
    if (error instanceof CannotStart) console.error(error.message)
    else console.error('The stack could not start:', error)
    Deno.exit(1)
  }
}

if (import.meta.main) await run()
