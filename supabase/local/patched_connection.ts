// When @supabase/lite first sees row level security it grants all on all tables to the API roles, which would undo the
// column grants of the migrations. Reporting the setup as done prevents that.
const keepGrants = <Connection extends object>(connection: Connection): Connection =>
  Object.assign(connection, { ensureRlsContext: () => Promise.resolve(true) })

// @supabase/lite looks up embedded tables by name alone: `conversations?select=messages(*)` found realtime.messages. So
// the schemas of Realtime and Storage are hidden from it.
const hidden = ['realtime', 'local_realtime', 'storage']
const withoutHidden = <Found extends object>(found: Found): Found =>
  Object.fromEntries(
    Object.entries(found).map(([kind, entries]) => [
      kind,
      Array.isArray(entries)
        ? entries.filter(({ schema }: { schema?: string }) => !hidden.includes(schema ?? 'public'))
        : entries,
    ]),
  ) as Found

const hideSchemas = <Connection extends { introspect: (options?: { useCache?: boolean }) => Promise<object> }>(
  connection: Connection,
): Connection => {
  const introspect = connection.introspect.bind(connection)
  // Each request introspects, and mostly gets the same object.
  const cache = new WeakMap<object, object>()
  return Object.assign(connection, {
    introspect: async (options?: { useCache?: boolean }) => {
      const found = await introspect(options)
      const shown = cache.get(found) ?? withoutHidden(found)
      cache.set(found, shown)
      return shown
    },
  })
}

/** Patches a connection of @supabase/lite to keep our grants and to hide the platform's schemas. */
export const patchConnection = <Connection extends Parameters<typeof hideSchemas>[0]>(
  connection: Connection,
): Connection => hideSchemas(keepGrants(connection))
