// @supabase/lite grants every privilege on every table to the API roles when it first sees row level security, which would undo the
// column grants that the migrations make. It has nothing to add to them, so it is told that all is set up.
const trustMigrations = <Connection extends object>(connection: Connection): Connection =>
  Object.assign(connection, { ensureRlsContext: () => Promise.resolve(true) })

// It looks an embedded table up by its name alone: `conversations?select=messages(*)` found realtime.messages. It need not know of the schemas
// of Realtime and Storage at all.
const hidden = ['realtime', 'local_realtime', 'storage']
const withoutHidden = <Found extends object>(found: Found): Found =>
  Object.fromEntries(
    Object.entries(found).map(([what, entries]) => [
      what,
      Array.isArray(entries)
        ? entries.filter(({ schema }: { schema?: string }) => !hidden.includes(schema ?? 'public'))
        : entries,
    ]),
  ) as Found

const hideSchemas = <Connection extends { introspect: (options?: { useCache?: boolean }) => Promise<object> }>(
  connection: Connection,
): Connection => {
  const introspect = connection.introspect.bind(connection)
  // Every request asks, and mostly gets the same answer.
  const known = new WeakMap<object, object>()
  return Object.assign(connection, {
    introspect: async (options?: { useCache?: boolean }) => {
      const found = await introspect(options)
      const shown = known.get(found) ?? withoutHidden(found)
      known.set(found, shown)
      return shown
    },
  })
}

/** A connection of @supabase/lite that leaves our database as it is, and shows of it what is ours. */
export const patchConnection = <Connection extends Parameters<typeof hideSchemas>[0]>(
  connection: Connection,
): Connection => hideSchemas(trustMigrations(connection))
