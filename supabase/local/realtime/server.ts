import { Hono } from 'hono'
import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import { type Database, retryOnConflict } from '../database.ts'
import type { Keys } from '../settings.ts'
import { openAuthorization } from './authorization.ts'
import type { Services } from './join.ts'
import { openConnection } from './connection.ts'
import { openHub } from './hub.ts'
import { identifyWith, RealtimeError } from './identity.ts'
import { openPostgresChanges } from './postgres_changes.ts'
import { openPresence } from './presence.ts'

const tenMinutes = 600_000

// Broadcasts are kept as long as on the platform.
const prune = `delete from realtime.messages where inserted_at < localtimestamp - interval '72 hours'`

/** Supabase Realtime for the local stack, as supabase-js calls it under /realtime/v1. */
export const openRealtime = async (database: Database, keys: Keys) => {
  await retryOnConflict(() => database.run(Deno.readTextFileSync(new URL('install.sql', import.meta.url))))
  const connections = new Set<{ close: (code: number, reason: string) => void }>()
  const closeAll = (code: number, reason: string): void => {
    for (const connection of connections) connection.close(code, reason)
    connections.clear()
  }
  // Clients cannot notice a gap by themselves. When they reconnect they catch up, as after any other interruption.
  const onLoss = (): void => closeAll(1012, 'Events may have been missed')

  const hub = openHub()
  let permissionChanges = 0
  const services: Services = {
    hub,
    presence: openPresence(hub),
    postgresChanges: openPostgresChanges(database, onLoss),
    authorize: openAuthorization(database),
    permissionChanges: () => permissionChanges,
    identify: identifyWith(keys),
  }
  await database.listen(
    'local_realtime',
    (notification) => {
      const [, kind, content = ''] = /^(\w+) (.*)$/s.exec(notification) ?? []
      if (kind === 'broadcast') {
        const { id, topic, event, payload } = JSON.parse(content)
        return hub.broadcast(topic, { event, payload: JSON.stringify(payload ?? {}), meta: { id } })
      }
      if (kind === 'change') return services.postgresChanges.notify(JSON.parse(content))
      permissionChanges++
      const channels = kind === 'account' ? hub.channelsOf(content) : hub.subscribers(content)
      for (const channel of channels) channel.refreshPermissions?.()
    },
    onLoss,
  )

  const removeExpired = (): void => {
    // PGlite has no autovacuum, and every permission check leaves dead rows behind.
    database.run(prune).then(() => database.run('vacuum realtime.messages'))
      .catch((error) => log('error', 'Expired broadcasts could not be removed', describeError(error)))
  }
  const schedule = setInterval(removeExpired, tenMinutes)
  removeExpired()

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
    close: () => {
      clearInterval(schedule)
      closeAll(1001, 'The server is stopping')
    },
  }
}
