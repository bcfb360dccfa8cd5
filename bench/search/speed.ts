/**
 * Measures how long a search takes on Postgres with generated profiles (generated.ts), in milliseconds and in
 * processor time of its backend, on one connection that runs one query after the other: private.find_profiles by
 * words and meaning and by words alone, with filters, and in a large country.
 *
 *   DATABASE_URL=… deno run -A bench/search/speed.ts 10000
 *
 * The database is on this machine, and is empty or was filled by this bench before.
 */
import postgres from 'postgres'
import { readQuery } from '../../functions/users/read_query.ts'
import { backendOf, processorTime } from '../endpoints/measure.ts'
import { openFilled } from './fill.ts'
import { makeQueries, model, type Query } from './generated.ts'
import { findProfiles } from './labelled.ts'

const url = Deno.env.get('DATABASE_URL')
const count = Number(Deno.args[0])
if (!url || !count) throw new Error('DATABASE_URL and a number of profiles are required')
const rounds = 3

const { database, profiles } = await openFilled(count)
await database.close()
const queries = makeQueries(200, profiles)
const sql = postgres(url, { max: 1, onnotice: () => {} })
const backend = await backendOf(sql)

const find = ({ q, vector, filters }: Query, byMeaning: boolean) => {
  const words = JSON.stringify(readQuery(q, new Set()).words)
  const queryVector = byMeaning ? JSON.stringify(vector) : null
  return sql.unsafe(findProfiles, [words, queryVector, model, 0.5, JSON.stringify(filters), 20, null], {
    prepare: true,
  })
}

const quantiles = (values: number[]): string =>
  [0.5, 0.95, 0.99].map((share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!)
    .map((value) => value.toFixed(1).padStart(8)).join('')

const time = async (name: string, some: Query[], byMeaning = true): Promise<void> => {
  for (const query of some.slice(0, 20)) await find(query, byMeaning)
  const [took, used]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    for (const query of some) {
      const [start, before] = [performance.now(), processorTime(backend)]
      await find(query, byMeaning)
      took.push(performance.now() - start)
      used.push(processorTime(backend) - before)
    }
  }
  console.log(`${name.padEnd(44)}${quantiles(took)}${quantiles(used)}`)
}

const isFiltered = ({ filters }: Query): boolean => Object.values(filters).some((list) => list.length > 0)
const free = queries.filter((query) => !isFiltered(query))
const filtered = queries.filter(isFiltered)
const [[country, people]] = [...Map.groupBy(profiles, ({ country }) => country)]
  .toSorted((one, other) => other[1].length - one[1].length) as [[string, unknown[]]]
console.log(`${''.padEnd(44)}     p50     p95     p99     p50     p95     p99 of processor time`)
await time(`words and meaning (${free.length} queries)`, free)
await time('words alone', free, false)
await time(`words and meaning, filtered (${filtered.length})`, filtered)
const inCountry = free.map((query) => ({ ...query, filters: { interests: [], cities: [], countries: [country] } }))
await time(`words and meaning, in a country of ${people.length}`, inCountry)
await sql.end()
Deno.exit(0)
