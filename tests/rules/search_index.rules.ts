/** The index follows whatever changes: a random walk, after each step of which searches find just whom they should. */
import { seededRandom } from '../tools/random.ts'
import { searchAudit } from '../tools/search_audit.ts'
import { asAdmin, equal, is, type Json, type Person, person, sql, test } from './fixture.ts'
import { embedAll, search } from './search_fixture.ts'

const steps = Number(Deno.env.get('SEARCH_STEPS') ?? 60)
const seed = Number(Deno.env.get('SEARCH_SEED') ?? 20_261_121)

interface Subject {
  who: Person
  name: string
  city: string
  biography: string | null
  searchable: boolean
  active: boolean
  likes: Set<number>
}

test(`after each of ${steps} changes a search finds the searchable, active profiles only (seed ${seed})`, async () => {
  const random = seededRandom(seed)
  const pick = <Value>(list: Value[]): Value => list[Math.floor(random() * list.length)]!
  const chance = (share: number): boolean => random() < share
  let count = 0
  const words = ['zorbing', 'quokkas', 'plonthir', 'gribwax']
  const interests = new Map<number, string>()
  const addInterest = async () => {
    const name = `Pastime ${count++}`
    const [id] = await asAdmin('insert into public.interests (name) values ($1) returning id', [name])
    interests.set(id, name)
  }
  for (let index = 0; index < 5; index++) await addInterest()
  const subjects: Subject[] = []
  const addSubject = async (searchable: boolean) => {
    const name = `walker${count++}`
    const who = await person(name, { city: 'Here', is_searchable: searchable })
    subjects.push({ who, name, city: 'Here', biography: null, searchable, active: true, likes: new Set() })
  }
  for (let index = 0; index < 12; index++) await addSubject(chance(0.5))

  const set = (table: string, { who }: Subject, fields: object) =>
    asAdmin(
      `update public.${table} set ${Object.keys(fields).map((field, at) => `${field} = $${at + 2}`)}
       where ${table === 'users' ? 'id' : 'user_id'} = $1`,
      [who.id, ...Object.values(fields)],
    )
  /** Each changes what is expected, too. Admins change what a deactivated person cannot. */
  const actions: Record<string, (subject: Subject) => Promise<unknown>> = {
    toggle: (subject) => {
      const is_searchable = subject.searchable = chance(0.8) ? !subject.searchable : subject.searchable
      return subject.active
        ? subject.who.patch(pick(['/users/searchable', '/users/profile']), { is_searchable })
        : set('profiles', subject, { is_searchable })
    },
    edit: async (subject) => {
      const name = `walker${count++}`
      const texts = { city: pick(['Here', 'Elsewhere']), biography: pick([...words, null]) }
      Object.assign(subject, { name, ...texts })
      if (subject.active) return await subject.who.patch('/users/profile', { name, ...texts })
      await set('users', subject, { name })
      await set('profiles', subject, texts)
    },
    activate: (subject) => set('users', subject, { is_active: subject.active = !subject.active }),
    like: (subject) => {
      const { who } = subject
      const interest_ids = subject.active ? [...interests.keys()].filter(() => chance(0.4)) : []
      subject.likes = new Set(interest_ids)
      if (!subject.active) return asAdmin('delete from public.profile_interests where profile_id = $1', [who.profileId])
      return chance(0.5)
        ? who.put('/users/profile/interests', { interest_ids }, 200)
        : who.patch('/users/profile', { interest_ids })
    },
    dropInterest: async () => {
      const id = pick([...interests.keys()])
      interests.delete(id)
      for (const { likes } of subjects) likes.delete(id)
      await asAdmin('delete from public.interests where id = $1', [id])
      await addInterest()
    },
    renameInterest: () => {
      const id = pick([...interests.keys()])
      interests.set(id, `Pastime ${count++}`)
      return asAdmin('update public.interests set name = $1 where id = $2', [interests.get(id), id])
    },
    replace: async (subject) => {
      await asAdmin('delete from public.users where id = $1', [subject.who.id])
      subjects.splice(subjects.indexOf(subject), 1)
      await addSubject(true)
    },
  }
  const weighted = ['toggle', 'toggle', 'toggle', 'edit', 'edit', 'activate', 'activate', 'like', 'like']

  const print = ({ id, user_id, name, city, biography, interests }: Json) =>
    JSON.stringify([id, user_id, name, city, biography, interests.toSorted()])
  const expectHits = async (what: string, parameters: Record<string, string>, isWanted: (one: Subject) => boolean) => {
    const { hits, estimatedTotalHits } = await search({ limit: 100, ...parameters })
    const expected = subjects.filter((one) => one.searchable && one.active && isWanted(one))
      .map(({ who, likes, ...one }) =>
        print({ ...one, id: who.profileId, user_id: who.id, interests: [...likes].map((id) => interests.get(id)!) })
      )
    is(hits.map(print).sort(), expected.sort(), `${what} `)
    is(estimatedTotalHits, hits.length, `${what} `)
  }
  for (let step = 0; step < steps; step++) {
    const subject = pick(subjects)
    const action = chance(0.15) ? pick(['dropInterest', 'renameInterest', 'replace']) : pick(weighted)
    await actions[action]!(subject)
    const [audit] = await sql(`select findings::text from (${searchAudit}) as audit`)
    is(Object.values(JSON.parse(audit)).some((findings) => findings !== 0 && findings !== '0'), false, audit)
    const what = `step ${step}: ${action} of ${subject.name}`
    await expectHits(what, {}, () => true)
    await expectHits(what, { filterCity: 'Here' }, ({ city }) => city === 'Here')
    const [id, name] = pick([...interests])
    await expectHits(what, { filterInterests: name }, ({ likes }) => likes.has(id))
    // Quoted, so that neither similar words nor similar meanings match.
    const word = pick(words)
    await expectHits(what, { q: `"${word}"` }, ({ biography }) => biography === word)
  }
})

test('a new text is embedded again and its old vector goes at once; what is not embedded queues nothing', async () => {
  const who = await person('cat', { biography: 'Hiking', is_searchable: true })
  await embedAll()
  const waiting = () => sql(`select count(*) from private.embedding_queue where kind = 'profile'`)
  const vectors = () => sql('select count(embedding) from private.search_entries')
  const change = (fields: string) => asAdmin(`update public.profiles set ${fields} where user_id = $1`, [who.id])
  await change(`image_url = 'https://example.com/a.png', first_name = 'Another'`)
  is([await waiting(), await vectors()], [[0], [1]])
  await change(`biography = 'Blistrovaq'`)
  is([await waiting(), await vectors()], [[1], [0]])
})

test('what is embedded, by whatever provider, has neither a name nor an address', async () => {
  const names = { name: 'Ana', first_name: 'Anabela', last_name: 'Costa' }
  const texts = { biography: 'Hiking', city: 'Faro', bio: 'Tiles', location: 'By the sea' }
  const { id, profileId } = await person('cat', { ...names, ...texts, is_searchable: true })
  const embedded = await sql('select private.entry_text($1), private.context_text($2)', [profileId, id])
  equal(embedded, [['Faro. Hiking', 'Tiles. By the sea']])
})
