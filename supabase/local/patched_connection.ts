// The schemas of Realtime and Storage are hidden from @supabase/lite, which looks up embedded tables by name alone:
// `conversations?select=messages(*)` found realtime.messages.
const hidden = ['realtime', 'local_realtime', 'storage']

type Introspection = Record<string, { name: string; schema?: string }[]>
/** What an introspection has found in these schemas. */
export const inSchemas = (found: object, isShown: (schema: string) => boolean): Introspection =>
  Object.fromEntries(
    Object.entries(found as Introspection).map(([kind, entries]) => [
      kind,
      Array.isArray(entries) ? entries.filter(({ schema = 'public' }) => isShown(schema)) : entries,
    ]),
  )

/** Patches a connection of @supabase/lite to keep our grants and to hide the platform's schemas. */
export const patchConnection = <Connection extends { introspect: (options?: never) => Promise<object> }>(
  connection: Connection,
): Connection => {
  const introspect = connection.introspect.bind(connection)
  // Each request introspects, and mostly gets the same object.
  const cache = new WeakMap<object, object>()
  return Object.assign(connection, {
    // When @supabase/lite first sees row level security it grants all on all tables to the API roles, which would undo
    // the column grants of the migrations. Reporting the setup as done prevents that.
    ensureRlsContext: () => Promise.resolve(true),
    introspect: async (options?: never) => {
      const found = await introspect(options)
      const shown = cache.get(found) ?? inSchemas(found, (schema) => !hidden.includes(schema))
      cache.set(found, shown)
      return shown
    },
  })
}
