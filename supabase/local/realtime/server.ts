import { Hono } from 'hono'
import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import { type Database, retryOnConflict } from '../database.ts'
import type { Keys } from '../settings.ts'
import { openAuthorization } from './authorization.ts'
import { openBroadcasts } from './broadcasts.ts'
import { openConnection } from './connection.ts'
import { openHub } from './hub.ts'
import { identifyWith, RealtimeError } from './identity.ts'
import { openInvisible } from './invisible.ts'
import { openPostgresChanges } from './postgres_changes.ts'
import { openPresence } from './presence.ts'
import type { Services } from './services.ts'

/** Supabase Realtime for the local stack, as supabase-js calls it under /realtime/v1. */
export interface Realtime {
  routes: Hono
  /** An answer of the functions without what readers do not see yet; with delays alone. */
  leaveOut: (request: Request, answer: Response) => Response | Promise<Response>
  /** Closes all connections. */
  close: () => void
}

const tenMinutes = 600_000

// Broadcasts are kept as long as on the platform. Changes are kept until every server has read them; if a
// transaction takes longer than that to commit, the queue finds its rows gone and reports the loss.
const prune = `
  delete from realtime.messages where inserted_at < localtimestamp - interval '72 hours';
  delete from local_realtime.changes where changed_at < now() - interval '1 hour';
`

/** `hasDelays`: waits where Supabase's server does, and tells of what readers do not see yet, for tests of clients. */
export const openRealtime = async (database: Database, keys: Keys, hasDelays: boolean): Promise<Realtime> => {
  await retryOnConflict(() => database.run(Deno.readTextFileSync(new URL('install.sql', import.meta.url))))
  const connections = new Set<{ close: (code: number, reason: string) => void }>()
  const closeAll = (code: number, reason: string): void => {
    for (const connection of connections) connection.close(code, reason)
    connections.clear()
  }
  // Clients cannot notice a gap by themselves. When they reconnect they catch up, as after any other interruption.
  const onLoss = (): void => {
    closeAll(1012, 'Events may have been missed')
    services.broadcasts.reset()
  }

  const hub = openHub()
  const invisible = hasDelays ? openInvisible() : null
  const services: Services = {
    hub,
    presence: openPresence(hub),
    broadcasts: openBroadcasts(database, hub, onLoss, invisible),
    postgresChanges: openPostgresChanges(database, onLoss),
    permissions: openAuthorization(database),
    identify: identifyWith(keys),
    hasDelays,
  }
  if (hasDelays) {
    // The first signal begins an outage of replication, the second ends it. SIGUSR1 would open the debugger.
    let isOut = false
    Deno.addSignalListener('SIGUSR2', () => services.broadcasts.setOutage(isOut = !isOut))
  }
  await database.listen(
    'local_realtime',
    (payload) => {
      const [, kind, id, topic] = /^(\w+) (\S+) ?(.*)$/s.exec(payload) ?? []
      if (kind === 'broadcast') services.broadcasts.notify(id!, topic!)
      if (kind === 'change') services.postgresChanges.notify(id!)
      // The server asks the policies at a join and for a new token alone.
      if ((kind === 'permissions' || kind === 'account') && !hasDelays) {
        services.permissions.permissionsChanged()
        const channels = kind === 'account' ? hub.channelsOf(id!) : hub.subscribers(id!)
        for (const channel of channels) channel.refreshPermissions?.()
      }
    },
    onLoss,
  )

  const removeExpired = async (): Promise<void> => {
    try {
      await database.run(prune)
      // PGlite has no autovacuum, and every permission check leaves dead rows behind.
      await database.run('vacuum realtime.messages')
      await database.run('vacuum local_realtime.changes')
    } catch (error) {
      log('error', 'Expired broadcasts and changes could not be removed', describeError(error))
    }
  }
  const schedule = setInterval(removeExpired, tenMinutes)
  void removeExpired()

  const routes = new Hono()
  routes.get('/websocket', async (c) => {
    if (c.req.header('Upgrade')?.toLowerCase() !== 'websocket') {
      return c.json({ error: 'This is for WebSockets' }, 426, { Upgrade: 'websocket' })
    }
    const key = c.req.header('x-api-key') ?? c.req.query('apikey') ?? c.req.header('apikey') ?? ''
    try {
      const identity = await services.identify(key)
      const version = c.req.query('vsn')?.startsWith('2') ? '2.0.0' : '1.0.0'
      const { socket, response } = Deno.upgradeWebSocket(c.req.raw)
      const connection = openConnection(services, socket, identity, version, () => connections.delete(connection))
      connections.add(connection)
      return response
    } catch (error) {
      if (!(error instanceof RealtimeError)) throw error
      return c.json({ error: error.text }, 401)
    }
  })
  return {
    routes,
    leaveOut: (request, answer) => invisible ? invisible.leaveOut(request, answer) : answer,
    close: () => {
      clearInterval(schedule)
      closeAll(1001, 'The server is stopping')
    },
  }
}
