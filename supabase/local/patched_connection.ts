// The schemas of Realtime and Storage are hidden from @supabase/lite, which looks up embedded tables by name alone:
// `conversations?select=messages(*)` found realtime.messages.
const hidden = ['realtime', 'local_realtime', 'storage']
const withoutHidden = (found: object): object =>
  Object.fromEntries(
    Object.entries(found).map(([kind, entries]) => [
      kind,
      Array.isArray(entries)
        ? entries.filter(({ schema }: { schema?: string }) => !hidden.includes(schema ?? 'public'))
        : entries,
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
      const shown = cache.get(found) ?? withoutHidden(found)
      cache.set(found, shown)
      return shown
    },
  })
}
