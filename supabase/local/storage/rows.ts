import type { Database } from '../database.ts'
import type { Identity } from '../realtime/identity.ts'

export type Claims = Pick<Identity, 'claims'>['claims']
/** For what Storage reads and writes in its own name. */
export const service: Claims = { role: 'service_role' }

/** A row of storage.objects, as far as a statement has asked for it. */
// deno-lint-ignore no-explicit-any
export type Row = Record<string, any>

const rehearsed = 'LS001'

/** Runs statements on these rows, each as its caller; `$1` of a statement are the values, and it returns JSON. */
export const openRows = ({ query }: Database) => {
  const send = async (claims: Claims, operation: string, statement: string, values: object, isRehearsal = false) => {
    const found = await query('select local_storage.run_as(($1::text)::jsonb, $2, $3, ($4::text)::jsonb, $5) as row', [
      ...[JSON.stringify(claims), operation, statement, JSON.stringify(values), isRehearsal],
    ])
    return found.map(({ row }) => row as Row)
  }
  type Run = (...call: [claims: Claims, operation: string, statement: string, values: object]) => Promise<Row[]>
  const run: Run = (...call) => send(...call)
  /** Takes the statement back: throws what the database would refuse. */
  const rehearse: Run = (...call) =>
    send(...call, true).catch((error) => {
      if (error?.code !== rehearsed) throw error
      return []
    })
  return { run, rehearse }
}

const columns = `
  (id, bucket_id, name, owner, owner_id, version, metadata)
  values (
    ($1 ->> 'id')::uuid, $1 ->> 'bucket', $1 ->> 'name',
    case when $1 ->> 'owner' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then ($1 ->> 'owner')::uuid end,
    $1 ->> 'owner', $1 ->> 'version', $1 -> 'metadata'
  )`

/** No `returning`, which would need the right to read: who may only upload, may upload. */
export const insertObject =
  `with made as (insert into storage.objects ${columns}) select jsonb_build_object('id', $1 -> 'id')`

/** With the version that it replaces. */
export const upsertObject = `
  with old as (
    select version from storage.objects where bucket_id = $1 ->> 'bucket' and name = $1 ->> 'name'
  ),
  written as (
    insert into storage.objects as existing ${columns}
    on conflict (bucket_id, name) do update set
      owner = excluded.owner, owner_id = excluded.owner_id, version = excluded.version, metadata = excluded.metadata,
      updated_at = now()
    returning id
  )
  select jsonb_build_object('id', id, 'replaced', (select version from old)) from written`

export const findObject = `
  select to_jsonb(objects) from storage.objects where bucket_id = $1 ->> 'bucket' and name = $1 ->> 'name'`

export const findNames = `
  select to_jsonb(name) from storage.objects
  where bucket_id = $1 ->> 'bucket' and name in (select jsonb_array_elements_text($1 -> 'names'))`

export const moveObject = `
  with moved as (
    update storage.objects
    set bucket_id = $1 ->> 'to_bucket', name = $1 ->> 'to_name', owner_id = coalesce($1 ->> 'owner', owner_id),
      updated_at = now()
    where bucket_id = $1 ->> 'bucket' and name = $1 ->> 'name'
    returning id, name
  )
  select to_jsonb(moved) from moved`

export const deleteObjects = `
  with deleted as (
    delete from storage.objects
    where bucket_id = $1 ->> 'bucket' and name in (select jsonb_array_elements_text($1 -> 'names'))
    returning *
  )
  select to_jsonb(deleted) from deleted`

/** One level of a folder, as the platform's storage.search: folders have no id, and case does not matter. */
export const listFolder = `
  with bounds as (
    select
      lower(($1 ->> 'prefix') || ($1 ->> 'search')) as prefix,
      greatest(cardinality(string_to_array($1 ->> 'prefix', '/')), 1) as first,
      greatest(cardinality(string_to_array(($1 ->> 'prefix') || ($1 ->> 'search'), '/')), 1) as level
  ),
  found as (
    select
      objects.*, array_to_string(path_tokens[first : level], '/') as entry,
      cardinality(path_tokens) > level as deeper
    from storage.objects, bounds
    where bucket_id = $1 ->> 'bucket' and starts_with(lower(objects.name), prefix)
  ),
  entries as (
    select distinct on (entry) entry as name, null::uuid as id, null::timestamptz as updated_at,
      null::timestamptz as created_at, null::timestamptz as last_accessed_at, null::jsonb as metadata
    from found
    where deeper
    union all
    select entry, id, updated_at, created_at, last_accessed_at, metadata from found where not deeper
  )
  select to_jsonb(entries) from entries`
