import { provideQuery } from '../../functions/_shared/database.ts'
import { announce } from './banner.ts'
import { openDataDir } from './data_dir.ts'
import { type Database, openPglite, openPostgres } from './database.ts'
import { openGateway } from './gateway.ts'
import { openPlatform } from './platform.ts'
import { CannotStart, type Keys, originOf, readSettings, type Settings } from './settings.ts'

/** What the platform tells its Edge Functions through their environment. */
const tellFunctions = async (settings: Settings, keys: Keys, database: Database): Promise<void> => {
  Deno.env.set('SUPABASE_URL', originOf(settings))
  Deno.env.set('SUPABASE_PUBLISHABLE_KEYS', JSON.stringify({ default: keys.publishableKey }))
  Deno.env.set('SUPABASE_SECRET_KEYS', JSON.stringify({ default: keys.secretKey }))
  Deno.env.set('JWT_SECRET', keys.jwtSecret)
  if (database.doors) return provideQuery(database.doors)
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(keys.jwtSecret)))
  const password = digest.toHex()
  await database.run(`alter role edge_functions password '${password}'`)
  Deno.env.set('EDGE_DATABASE_URL', database.edgeUrl(password)!)
}

const listen = (settings: Settings, handler: Deno.ServeHandler<Deno.NetAddr>): Deno.HttpServer<Deno.NetAddr> => {
  try {
    return Deno.serve({ hostname: settings.host, port: settings.port, onListen: () => {} }, handler)
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error
    throw new CannotStart(`Port ${settings.port} is in use; stop what listens there, or set PORT to another`)
  }
}

const start = async (): Promise<void> => {
  const settings = readSettings(Deno.env.toObject())
  const keys = openDataDir(settings.dataDir, settings.keys)

  // The port comes first: one that is in use is known before minutes are spent, and port 0 becomes a real one.
  let answer: Deno.ServeHandler<Deno.NetAddr> = () =>
    Response.json({ error: 'The service is starting' }, { status: 503, headers: { 'Retry-After': '1' } })
  const server = listen(settings, (request, info) => answer(request, info))
  settings.port = server.addr.port

  const database = settings.databaseUrl
    ? await openPostgres(settings.databaseUrl)
    : await openPglite(settings.dataDir && `${settings.dataDir}/postgres`)
  const platform = await openPlatform(database, keys, settings)
  await tellFunctions(settings, keys, database)
  const gateway = openGateway(platform, database, {
    auth: (await import('../../functions/auth/index.ts')).default,
    users: (await import('../../functions/users/index.ts')).default,
    conversations: (await import('../../functions/conversations/index.ts')).default,
    health: (await import('../../functions/health/index.ts')).default,
  })
  answer = (request, info) => gateway.fetch(request, { peerAddress: info.remoteAddr.hostname })

  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    // What is under way gets four seconds; the database closes clean in the fifth.
    await Promise.race([server.shutdown(), new Promise((resolve) => setTimeout(resolve, 4000))])
    await Promise.race([database.close(), new Promise((resolve) => setTimeout(resolve, 800))])
    Deno.exit(0)
  }
  Deno.addSignalListener('SIGINT', stop)
  Deno.addSignalListener('SIGTERM', stop)
  announce(settings, keys)
}

try {
  await start()
} catch (error) {
  if (error instanceof CannotStart) console.error(error.message)
  else console.error('The stack could not start:', error)
  Deno.exit(1)
}
