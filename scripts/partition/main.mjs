/**
 * Turns private.changes of a database in use into a table of parts, about one a week, of which the oldest is dropped
 * where rows were deleted. Copies beside the old table, and exchanges the two in a few milliseconds.
 *   npm run partition -- postgresql://postgres:…@…:5432/postgres [--give-up]
 * A direct connection or a session pooler, as the role that runs migrations. It can be ended at any time, and started
 * again it goes on where it was; --give-up removes what it has made instead, as long as the tables are not exchanged.
 * It also replaces forget_changes and changes_between, so a later migration that replaces these has to fit parts.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const usage = 'usage: npm run partition -- <database URL> [--give-up]'
const pagesPerBatch = 200
/** How long a step may wait for a lock, and others behind it; then it lets them pass and tries again. */
const lockTimeout = '200ms'
const pause = 500
const patience = 1200

const [url, flag] = process.argv.slice(2)
if (!URL.canParse(url ?? '') || (flag && flag !== '--give-up')) {
  console.error(usage)
  process.exit(2)
}
const database = new pg.Client({ connectionString: url, application_name: 'partition' })
const script = (name) => readFileSync(new URL(`${name}.sql`, import.meta.url), 'utf8')

const row = async (statement, values) => (await database.query(statement, values)).rows[0]

const transaction = async (work) => {
  await database.query('begin')
  try {
    await database.query(`set local lock_timeout = '${lockTimeout}'`)
    const result = await work()
    await database.query('commit')
    return result
  } catch (error) {
    await database.query('rollback')
    throw error
  }
}

/** A transaction that takes a lock on the table: tried until nobody is in its way for longer than the timeout. */
const lockingTransaction = async (work) => {
  for (let attempt = 1;; attempt++) {
    try {
      return await transaction(work)
    } catch (error) {
      const isBusy = error.code === '55P03' || error.code === '40P01'
      if (!isBusy || attempt === patience) throw error
      await sleep(pause)
    }
  }
}

const exists = async (name) => (await row('select to_regclass($1) is not null as exists', [name])).exists

const prepare = async () => {
  const origin = await row('select epoch, last_id from private.changes_origin')
  await database.query(`select set_config('partition.epoch', $1, true), set_config('partition.last_id', $2, true)`, [
    origin.epoch,
    origin.last_id,
  ])
  await database.query(script('prepare'))
  const { oldest, present, week } = await row(`
    select
      coalesce(min(xid)::text, pg_snapshot_xmax(pg_current_snapshot())::text)::bigint as oldest,
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint as present,
      private.changes_a_week() as week
    from private.changes
    where id > (select last_id from private.changes_origin) and xid < pg_snapshot_xmax(pg_current_snapshot())`)
  const bounds = [0n]
  do bounds.push((bounds.length > 1 ? bounds.at(-1) : BigInt(oldest)) + BigInt(week))
  while (bounds.at(-1) <= BigInt(present))
  bounds.push(9223372036854775807n)
  for (const [index, from] of bounds.slice(0, -1).entries()) {
    await database.query(`select private.add_changes_part('private.partitioned_changes', $1, $2)`, [
      from,
      bounds[index + 1],
    ])
  }
  return bounds.length - 1
}

/** Copies a batch; returns how many pages are left, or null while somebody deletes. */
const copyBatch = () =>
  transaction(async () => {
    const { free } = await row(`select pg_try_advisory_xact_lock(hashtext('private.wait_for_copy')) as free`)
    if (!free) return null
    const { next_page, is_same } = await row(
      `select *, filenode = pg_relation_filenode('private.changes') as is_same from private.changes_copy for update`,
    )
    // VACUUM FULL or a restore moved the rows.
    const from = is_same ? Number(next_page) : 0
    await database.query(
      `insert into private.partitioned_changes overriding system value
      select * from private.changes where ctid >= $1::tid and ctid < $2::tid
      on conflict do nothing`,
      [`(${from},0)`, `(${from + pagesPerBatch},0)`],
    )
    const { left } = await row(
      `update private.changes_copy
      set
        next_page = $1,
        filenode = pg_relation_filenode('private.changes'),
        pages = case when $2 then pages
          else pg_relation_size('private.changes') / current_setting('block_size')::bigint end
      returning greatest(0, pages - next_page) as left`,
      [from + pagesPerBatch, is_same],
    )
    return Number(left)
  })

const copy = async () => {
  for (let left = Infinity, batches = 0; left > 0;) {
    const next = await copyBatch()
    if (next === null) {
      await sleep(pause)
      continue
    }
    left = next
    if (batches++ % 100 === 0) console.log(`${left} pages to copy`)
  }
  await database.query('analyze private.partitioned_changes')
}

/** Both tables in one snapshot, in which they agree at any time once everything is copied. */
const compare = async () => {
  const { rows: [old, parted] } = await database.query(`
    select count(*) as rows, coalesce(sum(hashtextextended(changes::text, 0)), 0)::text as hash
    from private.changes
    union all
    select count(*), coalesce(sum(hashtextextended(partitioned_changes::text, 0)), 0)::text
    from private.partitioned_changes`)
  if (old.rows !== parted.rows || old.hash !== parted.hash) {
    throw new Error(`The tables differ: ${old.rows} rows, ${parted.rows} in parts. --give-up, and begin again`)
  }
  console.log(`${old.rows} rows, the same in both tables`)
}

const giveUp = async () => {
  await lockingTransaction(() =>
    database.query(`
      lock table private.changes in access exclusive mode;
      drop table if exists private.changes_copy;
      drop trigger if exists follow_changes on private.changes;
      drop trigger if exists wait_for_copy on private.changes;
      drop function if exists private.follow_changes();
      drop function if exists private.wait_for_copy();
      drop materialized view private.partitioned_changes_origin;
      drop table private.partitioned_changes;
      drop function private.forget_old_parts();
      drop function private.cut_changes(bigint);
      drop function private.changes_a_week();
      drop function private.add_changes_part(regclass, bigint, bigint);
      drop function private.changes_parts()`)
  )
  console.log('Removed what was made; private.changes is as it was')
}

const main = async () => {
  await database.connect()
  await database.query(`set statement_timeout = 0; set client_min_messages = warning`)
  const { alone } = await row(`select pg_try_advisory_lock(hashtext('npm run partition')) as alone`)
  if (!alone) throw new Error('Another run is under way, or its last statement is: try again')
  if (!(await row(`select to_regclass('private.changes') is not null as found`)).found) {
    throw new Error('This database has no private.changes')
  }
  const { relkind } = await row(`select relkind from pg_class where oid = 'private.changes'::regclass`)
  if (relkind === 'p') {
    console.log('private.changes is partitioned')
    return
  }
  const isPrepared = await exists('private.partitioned_changes')
  if (flag) {
    if (isPrepared) await giveUp()
    return
  }
  if (!isPrepared) console.log(`Made ${await transaction(prepare)} parts beside private.changes`)
  if (!await exists('private.changes_copy')) await lockingTransaction(() => database.query(script('follow')))
  await copy()
  await compare()
  await lockingTransaction(() => database.query(script('swap')))
  console.log('private.changes is partitioned. The old table is private.unpartitioned_changes; once nobody wants it:')
  console.log('  drop table private.unpartitioned_changes cascade')
}

try {
  await main()
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  await database.end().catch(() => {})
}
