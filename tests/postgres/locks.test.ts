// Each lock is taken out of the functions of a database, and then one of the races must fail: by what people see, or
// because somebody waits who must not. That nobody waits any more is no harm by itself.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { openAllRaces } from './races/fixture.ts'
import { countLocks, mutantsOf } from './races/locks.ts'

const { url } = await useCopy('unlocked')
const { ask, execute, races } = await openAllRaces(url, { countsWaiting: false })

test('without any of its locks a race fails', async () => {
  const functions = await ask<{ id: number; name: string; definition: string }>`
    select id::integer, id::regproc as name, pg_get_functiondef(id) as definition
    from (
      select oid as id from pg_proc
      where pronamespace = any(array['api', 'private', 'public']::regnamespace[]) and prokind = 'f'
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    ) as ours`
  const mutants = functions.flatMap(({ name, definition }) => mutantsOf(name, definition))
  const written = readdirSync('sql/schema', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => readFileSync(`sql/schema/${file}`, 'utf8').replaceAll(/^ +for update to /gm, ''))
  expect(countLocks(functions.map(({ definition }) => definition).join('\n'))).toBe(countLocks(written.join('\n')))

  // Which functions a race calls, so that of each mutant only the races are tried that could notice it.
  const calls = async () => {
    const rows = await ask<{ id: number; calls: number }>`
      select funcid::integer as id, calls from pg_stat_user_functions`
    return new Map(rows.map(({ id, calls }) => [id, calls]))
  }
  const racesOf = new Map(functions.map(({ name }) => [name, [] as typeof races]))
  for (const race of races) {
    const before = await calls()
    await race.run()
    const after = await calls()
    for (const { id, name } of functions) if (after.get(id) !== before.get(id)) racesOf.get(name)!.push(race)
  }

  const survivors: string[] = []
  for (const { name, what, definition } of mutants) {
    await execute(definition)
    let isNoticed = false
    for (const race of racesOf.get(name)!) {
      isNoticed = await race.run().then(() => false, () => true)
      if (!isNoticed) continue
      await execute(functions.find((one) => one.name === name)!.definition)
      // With its lock it succeeds again.
      await race.run()
      break
    }
    if (!isNoticed) {
      await execute(functions.find((one) => one.name === name)!.definition)
      survivors.push(what)
    }
  }
  expect(survivors, `of ${mutants.length} locks`).toEqual([])
})
