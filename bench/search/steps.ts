/**
 * Says where the time of a search goes: the statements of GET /users/search, anonymous, one after the other on one
 * connection, by step, in milliseconds of Postgres's processor time. The time of a function is its share of the time
 * that pg_stat_user_functions has for both statements.
 *
 *   DATABASE_URL=… deno run -A bench/search/steps.ts 10000
 *
 * The database is empty, or was filled by this bench or full_text.ts before.
 */
import postgres from 'postgres'
import { queryVector } from '../../functions/_shared/embeddings/query_vector.ts'
import { readQuery, textToEmbed, understandable } from '../../functions/users/read_query.ts'
import type { Query } from './generated.ts'
import { embedder } from './labelled.ts'
import { backendOf, makeKinds, openWithTexts, processorTime } from './real_texts.ts'

const url = Deno.env.get('DATABASE_URL')
const count = Number(Deno.args[0])
if (!url || !count) throw new Error('DATABASE_URL and a number of profiles are required')
const queriesOfKind = 200

const { sql: owner, profiles } = await openWithTexts(url, count)
await owner.end()
const sql = postgres(url, { max: 1, connection: { track_functions: 'pl' } })
const backend = await backendOf(sql)

interface Part {
  self: number
  total: number
  calls: number
}

// The counters reach the view with the first transaction after it is asked for.
const readFunctions = async (): Promise<Map<string, Part>> => {
  await sql`select pg_stat_force_next_flush()`
  const rows = await sql`
    select schemaname || '.' || funcname as name, sum(self_time) as self, sum(total_time) as total, sum(calls) as calls
    from pg_stat_user_functions
    group by 1`
  return new Map(
    rows.map(({ name, self, total, calls }) => [name, {
      self: Number(self),
      total: Number(total),
      calls: Number(calls),
    }]),
  )
}

const call = async (name: string, request: unknown) => {
  const [row] = await sql.unsafe(`select api.${name}(($1::text)::jsonb)::text as answer`, [JSON.stringify(request)], {
    prepare: true,
  })
  return JSON.parse(row!.answer)
}

const search = async ({ q, filters }: Query): Promise<{ hits: { id: number }[] }> => {
  const read = readQuery(q)
  const { text, asked } = await call('understand_query', await understandable(q, read))
  const vector = await queryVector(textToEmbed(text, read))
  return await call('search_profiles', {
    q,
    asked,
    vector,
    model: embedder.model,
    age: read.age,
    ...filters,
    limit: 20,
    offset: 0,
  })
}

const toJson = (ids: number[]) =>
  sql.unsafe(
    `select json_agg(private.hit_body(entry, .5))::text
     from unnest($1::bigint[]) as id
     join private.search_entries as entry on profile_id = id`,
    [ids],
    { prepare: true },
  )

console.log('ms of processor time a search\n')
for (const [kind, all] of makeKinds(profiles)) {
  const queries = all.slice(0, queriesOfKind)
  const answers = []
  for (const query of queries) answers.push(await search(query))
  const before = await readFunctions()
  let used = processorTime(backend)
  for (const query of queries) await search(query)
  used = (processorTime(backend) - used) / queries.length
  const after = await readFunctions()
  const part = (name: string): Part => {
    const [from, to] = [before, after].map((functions) => functions.get(name) ?? { self: 0, total: 0, calls: 0 })
    return {
      self: to!.self - from!.self,
      total: to!.total - from!.total,
      calls: (to!.calls - from!.calls) / queries.length,
    }
  }
  const whole = part('api.understand_query').total + part('api.search_profiles').total
  const share = (time: number): number => time / whole * used
  let json = processorTime(backend)
  for (const { hits } of answers) await toJson(hits.map(({ id }) => id))
  json = (processorTime(backend) - json) / queries.length
  const steps: [string, number][] = [
    ['understand: words, corrections, rarity', share(part('private.read_query').total)],
    [
      'understand: what to embed and to suggest',
      share(
        part('api.understand_query').total - part('private.read_query').total,
      ),
    ],
    ['filter', share(part('private.read_filter').total)],
    ['nearest by meaning', share(part('private.nearest_profiles').total)],
    ['candidates by words', share(part('private.keyword_candidates').total)],
    ['exact scores of words', share(part('private.keyword_scores').total)],
    ['JSON', json],
    ['embeddings, ranking', share(part('private.find_profiles').self) - json],
  ]
  const rest = used - steps.reduce((sum, [, time]) => sum + time, 0)
  console.log(kind)
  for (const [step, time] of [...steps, ['anything else', rest] as const, ['all', used] as const]) {
    console.log(`  ${step.padEnd(44)}${time.toFixed(2).padStart(6)}`)
  }
  if (Deno.args.includes('--functions')) {
    const names = [...after.keys()].toSorted((one, other) => part(other).self - part(one).self).slice(0, 14)
    for (const name of names) {
      const { self, calls } = part(name)
      console.log(`    ${name.padEnd(42)}${share(self).toFixed(2).padStart(6)} in ${calls.toFixed(1)} calls`)
    }
  }
}
await sql.end()
Deno.exit(0)
