/**
 * The search that a user would write without ours: one statement of Postgres's full text behind Hono and postgres.js,
 * as the owner of the tables. It ranks profiles that have all words of the query, with &any=true those that have any of
 * them, as ours does. full_text.ts creates its table.
 *   DATABASE_URL=… DATABASE_POOL=… deno run -A bench/search/serve_full_text.ts
 */
import { Hono } from 'hono'
import postgres from 'postgres'

const sql = postgres(Deno.env.get('DATABASE_URL')!, { max: Number(Deno.env.get('DATABASE_POOL')) })
const app = new Hono()

app.get('/users/search', async (c) => {
  const { q = '', any } = c.req.query()
  const [interests = [], cities = [], countries = []] = ['filterInterests', 'filterCity', 'filterCountry']
    .map((name) => c.req.queries(name))
  const hits = await sql`
    select
      id, user_id, name, biography, city, country, interests, image_url, ts_rank_cd(words, query) as score,
      (count(*) over ())::integer as total
    from bench.full_text
    cross join websearch_to_tsquery('english', ${any ? q.trim().replaceAll(/\s+/g, ' or ') : q}) as query
    where words @@ query
      and (${interests.length === 0} or interests && ${interests}::text[])
      and (${cities.length === 0} or city = any (${cities}::text[]))
      and (${countries.length === 0} or country = any (${countries}::text[]))
    order by score desc, id
    limit 20`
  return c.json({
    hits: hits.map(({ total: _, ...hit }) => hit),
    query: q,
    estimatedTotalHits: hits[0]?.total ?? 0,
    limit: 20,
    offset: 0,
  })
})

Deno.serve({
  hostname: '127.0.0.1',
  port: 0,
  onListen: ({ port }) => console.error(`ready http://127.0.0.1:${port}`),
}, app.fetch)
