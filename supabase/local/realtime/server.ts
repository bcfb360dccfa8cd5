import { Hono } from 'hono'
import { log } from '../../../functions/_shared/log.ts'
import { describeError } from '../../../functions/_shared/errors.ts'
import { besideOthers, type Database } from '../database.ts'
import type { Keys } from '../settings.ts'
import { openBroadcasts } from './broadcasts.ts'
import { openChanges } from './changes.ts'
import type { Services } from './channel.ts'
import { openConnection } from './connection.ts'
import { openHub } from './hub.ts'
import { identifyWith, Refusal } from './identity.ts'
import { openPresence } from './presence.ts'
import { restOf } from './rest.ts'
import { rightsFrom } from './rights.ts'

/** Realtime on one machine: what supabase-js finds under /realtime/v1. */
export interface Realtime {
  routes: Hono
  /** Says goodbye to everybody. */
  close: () => void
}

const tenMinutes = 600_000

// Broadcasts are kept as long as the platform keeps them, for those who ask to have them replayed. Rows are kept long enough for every server
// to have read them; where a transaction takes longer to commit, whoever looks for its rows in vain tells of a loss.
const prune = `
  delete from realtime.messages where inserted_at < localtimestamp - interval '72 hours';
  delete from local_realtime.changes where changed_at < now() - interval '1 hour';
`

export const openRealtime = async (database: Database, keys: Keys): Promise<Realtime> => {
  await besideOthers(() => database.run(Deno.readTextFileSync(new URL('install.sql', import.meta.url))))
  const connections = new Set<{ hangUp: (code: number, reason: string) => void }>()
  const hangUp = (code: number, reason: string): void => {
    for (const connection of connections) connection.hangUp(code, reason)
    connections.clear()
  }
  // Clients that connect anew catch up, as after any other interruption; nobody would tell them of a gap.
  const lost = (): void => {
    hangUp(1012, 'Events may have been missed')
    services.broadcasts.rest()
  }

  const hub = openHub()
  const services: Services = {
    hub,
    presence: openPresence(hub),
    broadcasts: openBroadcasts(database, hub, lost),
    changes: openChanges(database, lost),
    rights: rightsFrom(database),
    changesOfRights: { count: 0 },
    identify: identifyWith(keys),
  }
  await database.listen(
    'local_realtime',
    (word) => {
      const [, kind, id, topic] = /^(\w+) (\S+) ?(.*)$/s.exec(word) ?? []
      if (kind === 'broadcast') services.broadcasts.notice(id!, topic!)
      if (kind === 'change') services.changes.notice(id!)
      if (kind === 'rights') {
        services.changesOfRights.count++
        for (const channel of hub.on(id!)) channel.askAgain?.()
      }
    },
    lost,
  )

  const tidy = async (): Promise<void> => {
    try {
      await database.run(prune)
      // PGlite has nobody who does it by themselves, and every check of rights leaves rows behind that were undone.
      await database.run('vacuum realtime.messages')
      await database.run('vacuum local_realtime.changes')
    } catch (error) {
      log('error', 'What is out of date could not be removed', describeError(error))
    }
  }
  const schedule = setInterval(tidy, tenMinutes)
  void tidy()

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
      if (!(error instanceof Refusal)) throw error
      return c.json({ error: error.words }, 401)
    }
  })
  routes.route('/api', restOf(services))
  return {
    routes,
    close: () => {
      clearInterval(schedule)
      hangUp(1001, 'The server is stopping')
    },
  }
}
