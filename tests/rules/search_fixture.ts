/** Profiles to search, and what a search answers. */
import { anonymous, asAdmin, type Caller, is, type Json, sql } from './fixture.ts'

const fields = ['first_name', 'last_name', 'age', 'biography', 'city', 'country', 'is_searchable'] as const
export interface Subject extends Partial<Record<typeof fields[number], unknown>> {
  name: string
  interests?: string[]
}

let count = 0
/** Embeds what waits, as the schedule does. */
export const embedAll = async (): Promise<void> => {
  const schedule = { apikey: 'sb_secret_test' }
  while ((await anonymous.expect('POST', '/embed', undefined, 200, undefined, schedule)).made > 0);
}
/** Creates users without Auth accounts, as an import does, searchable unless it says otherwise; returns profile ids. */
export const makeProfiles = async (subjects: Subject[]): Promise<number[]> => {
  const rows = subjects.map((subject) => ({ is_searchable: true, ...subject, email: `s${count++}@example.com` }))
  const ids = await asAdmin(
    `with given as (
       select * from jsonb_to_recordset($1) as given (
         name text, email text, first_name text, last_name text, age integer, biography text, city text, country text,
         is_searchable boolean
       )
     ),
     made as (insert into public.users (name, email) select name, email from given returning id, email)
     insert into public.profiles (user_id, ${fields})
     select made.id, ${fields.map((field) => `given.${field}`)} from made join given using (email) order by made.id
     returning id`,
    [JSON.stringify(rows)],
  )
  const liked = subjects.flatMap(({ interests = [] }, index) => interests.map((name) => ({ id: ids[index], name })))
  await asAdmin(
    `insert into public.profile_interests (profile_id, interest_id)
     select liked.id, interests.id
     from jsonb_to_recordset($1) as liked (id bigint, name text) join public.interests using (name)`,
    [JSON.stringify(liked)],
  )
  await embedAll()
  return ids
}
export const idsOf = async (...names: string[]): Promise<number[]> =>
  (await Promise.all(names.map((name) => sql('select id from public.interests where name = $1', [name])))).flat()

type Parameters = Record<string, string | number | string[]>
/** The address of a search; an array repeats the parameter. */
export const addressOf = (parameters: Parameters): string => {
  const pairs = Object.entries(parameters).flatMap(([name, given]) => [given].flat().map((one) => [name, `${one}`]))
  return `/users/search?${new URLSearchParams(pairs)}`
}
export const search = async (parameters: Parameters = {}, who: Caller = anonymous): Promise<Json> => {
  const answer = await who.get(addressOf(parameters))
  is(answer.hits.every(({ _rankingScore: score }: Json) => score >= 0 && score <= 1), true, 'scores are from 0 to 1')
  return answer
}
export const namesOf = ({ hits }: Json): string[] => hits.map(({ name }: Json) => name)
/** The names that match by words and not by meaning alone, sorted. */
export const byWords = async (q: string, who?: Caller): Promise<string[]> =>
  namesOf({
    hits: (await search({ q, explain: 'true', limit: 100 }, who)).hits
      .filter(({ _rankingScoreDetails }: Json) => _rankingScoreDetails.words !== null),
  }).sort()
/** Each query finds just these by words. */
export const finds = async (cases: [q: string, names: string[]][]): Promise<void> => {
  for (const [q, names] of cases) is(await byWords(q), names, `${JSON.stringify(q)} `)
}
