import { expect, test } from 'vitest'
import { asAdmin, freshEmail, type Person, signUp } from '../tools/people.ts'
import { numbersFrom } from '../tools/random.ts'
import { madeUpCity, searchIn } from '../tools/search.ts'

const steps = 150
const seed = Number(process.env.SEED_OF_STEPS ?? 20_261_121)

interface Hit {
  id: number
  user_id: number
  name: string
  city: string
  biography: string | null
  interests: string[]
}

interface Known {
  person: Person
  name: string
  city: string
  biography: string | null
  searchable: boolean
  active: boolean
  likes: Set<number>
}

test(`after each of ${steps} changes a search finds exactly who is searchable and active (seed ${seed})`, async () => {
  const random = numbersFrom(seed)
  const pick = <Value>(list: Value[]): Value => list[Math.floor(random() * list.length)]!
  const chance = (share: number): boolean => random() < share
  const here = madeUpCity('Steptown')
  const elsewhere = `${here} elsewhere`
  const inBoth = searchIn(`${here},${elsewhere}`)
  const words = ['zorbing', 'quokkas', 'plonthir', 'gribwax']

  const interests = new Map<number, string>()
  const addInterest = async () => {
    const name = `Pastime ${freshEmail()}`
    const { body } = await asAdmin('POST', 'interests', { name })
    interests.set(body[0].id, name)
  }
  for (let index = 0; index < 5; index++) await addInterest()

  const people: Known[] = []
  for (let index = 0; index < 12; index++) {
    const searchable = chance(0.5)
    const name = `Walker ${index}`
    const person = await signUp(name, { city: here, is_searchable: searchable })
    people.push({ person, name, city: here, biography: null, searchable, active: true, likes: new Set() })
  }

  /** Whatever may be done to somebody: it says what, and keeps the books. */
  const actions: Record<string, (known: Known) => Promise<unknown>> = {
    toggle: (known) => {
      const is_searchable = known.searchable = chance(0.8) ? !known.searchable : known.searchable
      return known.active
        ? known.person.call('PATCH', pick(['/users/searchable', '/users/profile']), { is_searchable })
        : asAdmin('PATCH', `profiles?id=eq.${known.person.profileId}`, { is_searchable })
    },
    edit: (known) => {
      const name = `Walker ${freshEmail()}`
      const change = { name, city: pick([here, elsewhere]), biography: pick([...words, null]) }
      Object.assign(known, change)
      const { name: _, ...texts } = change
      return known.active
        ? known.person.call('PATCH', '/users/profile', change)
        : asAdmin('PATCH', `users?id=eq.${known.person.id}`, { name })
          .then(() => asAdmin('PATCH', `profiles?id=eq.${known.person.profileId}`, texts))
    },
    activate: (known) => {
      known.active = !known.active
      return asAdmin('PATCH', `users?id=eq.${known.person.id}`, { is_active: known.active })
    },
    like: (known) => {
      const ids = [...interests.keys()].filter(() => chance(0.4))
      if (!known.active) {
        known.likes = new Set()
        return asAdmin('DELETE', `profile_interests?profile_id=eq.${known.person.profileId}`)
      }
      known.likes = new Set(ids)
      return chance(0.5)
        ? known.person.call('PUT', '/users/profile/interests', { interest_ids: ids })
        : known.person.call('PATCH', '/users/profile', { interest_ids: ids })
    },
    dropInterest: async () => {
      const id = pick([...interests.keys()])
      interests.delete(id)
      for (const { likes } of people) likes.delete(id)
      await asAdmin('DELETE', `interests?id=eq.${id}`)
      await addInterest()
    },
    renameInterest: () => {
      const id = pick([...interests.keys()])
      const name = `Pastime ${freshEmail()}`
      interests.set(id, name)
      return asAdmin('PATCH', `interests?id=eq.${id}`, { name })
    },
    // Somebody goes with all that is theirs, and somebody else comes.
    replace: async (known) => {
      await asAdmin('DELETE', `users?id=eq.${known.person.id}`)
      people.splice(people.indexOf(known), 1)
      const name = `Walker ${freshEmail()}`
      const person = await signUp(name, { city: here, is_searchable: true })
      people.push({ person, name, city: here, biography: null, searchable: true, active: true, likes: new Set() })
    },
  }
  const weighted = ['toggle', 'toggle', 'toggle', 'edit', 'edit', 'activate', 'activate', 'like', 'like']

  const shown = (these: Known[]) =>
    these
      .filter(({ searchable, active }) => searchable && active)
      .map(({ person, name, city, biography, likes }) => ({
        id: person.profileId,
        user_id: person.id,
        name,
        city,
        biography,
        interests: [...likes].map((id) => interests.get(id)!).toSorted(),
      }))
      .toSorted((one, other) => one.id - other.id)

  const expectShown = async (what: string, parameters: Record<string, string>, these: Known[]) => {
    const { status, body } = await inBoth({ limit: 100, ...parameters })
    expect(status, what).toBe(200)
    const hits = (body.hits as Hit[])
      .map(({ id, user_id, name, city, biography, interests }) => ({
        id,
        user_id,
        name,
        city,
        biography,
        interests: interests.toSorted(),
      }))
      .toSorted((one, other) => one.id - other.id)
    expect(hits, what).toEqual(shown(these))
    expect(body.estimatedTotalHits, what).toBe(hits.length)
  }

  for (let step = 0; step < steps; step++) {
    const known = pick(people)
    const action = chance(0.15) ? pick(['dropInterest', 'renameInterest', 'replace']) : pick(weighted)
    const answer = await actions[action]!(known) as { status: number } | undefined
    const what = `step ${step}: ${action} of ${known.name}`
    if (answer) expect(answer.status, what).toBeLessThan(300)

    await expectShown(what, {}, people)
    await expectShown(what, { filterCity: here }, people.filter(({ city }) => city === here))
    const [id, name] = pick([...interests])
    await expectShown(what, { filterInterests: name }, people.filter(({ likes }) => likes.has(id)))
    // Quoted, so that neither a word alike nor a meaning alike is found.
    const word = pick(words)
    await expectShown(what, { q: `"${word}"` }, people.filter(({ biography }) => biography === word))
  }
}, 240_000)
